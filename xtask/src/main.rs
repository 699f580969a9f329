//! `cargo xtask component [--check [--strict]]`, `unicode`, `docs`, `package`,
//! `dist`, `deny`.

#![forbid(unsafe_code)]

use std::env;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use xtask::lock::Lock;
use xtask::sources::{Sources, sha256};
use xtask::toolchain::Toolchain;
use xtask::{COMPONENT, Error, LOCK, component, deny, dist, docs, package, stale, workspace_root};

const USAGE: &str = "\
cargo xtask component                     rebuild the policy component and its lock
cargo xtask component --check             rebuild elsewhere and compare bytes
cargo xtask component --check --strict    the same, and fail where bytes cannot be compared
cargo xtask unicode                       make the guest's tables of characters
cargo xtask docs                          write what of the documents is made
cargo xtask package [ARG]...              `cargo package` of what is published
cargo xtask deny                          licences and sources, as deny.toml allows them
cargo xtask dist [--binary FILE]          the archive of a release, below target/dist

exit: 0 done, 1 stale or failed, 2 wrong usage, 4 (with --strict) not comparable";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = workspace_root();
    let done = match args.as_slice() {
        ["component"] => rebuild(&root),
        ["component", "--check"] => check(&root, false),
        ["component", "--check", "--strict"] => check(&root, true),
        ["unicode"] => unicode(&root),
        ["docs"] => docs::run(&root).map(|()| ExitCode::SUCCESS),
        ["package", options @ ..] => package::run(&root, options).map(|()| ExitCode::SUCCESS),
        ["deny"] => deny(&root),
        ["dist"] => archive(&root, None),
        ["dist", "--binary", file] => archive(&root, Some(Path::new(file))),
        ["--help" | "-h" | "help"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

fn deny(root: &Path) -> Result<ExitCode, Error> {
    let path = root.join(deny::FILE);
    let text = fs::read_to_string(&path).map_err(|source| Error::Io { path, source })?;
    let found = deny::Rules::parse(&text)?.check(root)?;
    for what in &found.refused {
        eprintln!("refused: {what}");
    }
    for rule in &found.idle {
        eprintln!("nothing needs this rule: {rule}");
    }
    if !found.refused.is_empty() || !found.idle.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    println!(
        "{} crates, all with licences and from sources that are allowed",
        found.crates
    );
    Ok(ExitCode::SUCCESS)
}

fn archive(root: &Path, binary: Option<&Path>) -> Result<ExitCode, Error> {
    let made = dist::run(root, binary)?;
    println!("{}\n{}", made.path.display(), made.sha256);
    Ok(ExitCode::SUCCESS)
}

fn build(root: &Path, toolchain: &Toolchain) -> Result<Vec<u8>, Error> {
    let compiler = &toolchain.compiler;
    eprintln!(
        "compiling with {} ({} library)",
        compiler.rustc, compiler.library
    );
    component::build(root, toolchain, &root.join("target/component"))
}

fn rebuild(root: &Path) -> Result<ExitCode, Error> {
    let toolchain = Toolchain::find(root)?;
    let bytes = build(root, &toolchain)?;
    let lock = Lock {
        sha256: sha256(&bytes),
        bytes: bytes.len(),
        compiler: toolchain.compiler,
        sources: Sources::read(root)?,
    };
    let path = root.join(COMPONENT);
    fs::write(&path, &bytes).map_err(|source| Error::Io { path, source })?;
    lock.write(&root.join(LOCK))?;
    println!("{COMPONENT}: {} bytes, sha256 {}", lock.bytes, lock.sha256);
    Ok(ExitCode::SUCCESS)
}

fn unicode(root: &Path) -> Result<ExitCode, Error> {
    for (name, bytes) in xtask::unicode::files()? {
        let path = root.join(xtask::unicode::FOLDER).join(name);
        println!("{name}: {} bytes", bytes.len());
        fs::write(&path, bytes).map_err(|source| Error::Io { path, source })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check(root: &Path, strict: bool) -> Result<ExitCode, Error> {
    let reasons = stale(root)?;
    if !reasons.is_empty() {
        eprintln!("stale, run `cargo xtask component`:");
        for reason in reasons {
            eprintln!("  {reason}");
        }
        return Ok(ExitCode::FAILURE);
    }
    let lock = Lock::read(&root.join(LOCK))?;
    let toolchain = Toolchain::find(root)?;
    let rebuilt = build(root, &toolchain)?;
    if toolchain.compiler != lock.compiler {
        println!("NOT COMPARED: sources match the lock, but it was built by another compiler");
        println!("  lock: {:?}", lock.compiler);
        println!("  here: {:?}", toolchain.compiler);
        return Ok(if strict {
            ExitCode::from(4)
        } else {
            ExitCode::SUCCESS
        });
    }
    if sha256(&rebuilt) == lock.sha256 {
        println!("identical: {} bytes, sha256 {}", lock.bytes, lock.sha256);
        Ok(ExitCode::SUCCESS)
    } else {
        eprintln!(
            "differs: rebuilt {} bytes, sha256 {}",
            rebuilt.len(),
            sha256(&rebuilt)
        );
        Ok(ExitCode::FAILURE)
    }
}
