//! Other hosts' runtimes, set up inside `target/` and nowhere else.
//!
//! A runtime this machine lacks makes a test say that it skipped. Under
//! `CI=true` that is a failure: there, nothing may be skipped unseen.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::SystemTime;
use std::{env, fs};

/// The repository.
#[must_use]
pub fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The committed component.
#[must_use]
pub fn component() -> PathBuf {
    root().join("guest/ghyll-policy.wasm")
}

/// The example hosts.
#[must_use]
pub fn hosts() -> PathBuf {
    root().join("tests/hosts")
}

/// Says that a test skipped, and why.
///
/// # Panics
/// Under `CI=true`.
pub fn skip(why: &str) {
    assert!(
        env::var("CI").as_deref() != Ok("true"),
        "may not skip in CI: {why}"
    );
    eprintln!("skipped: {why}");
}

/// Runs a command to its end. None if there is no such program here.
///
/// # Panics
/// If it cannot be run for another reason.
pub fn output(command: &mut Command) -> Option<Output> {
    match command.output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => panic!("{command:?}: {error}"),
    }
}

/// Runs a command that has to succeed; its standard output.
///
/// # Panics
/// If it does not.
pub fn succeed(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// The `ghyll` binary: the one `GHYLL_BIN` names, else the one beside this
/// test, which `cargo test --workspace` has just built; built now if there is
/// none or it is older than what it is made from.
///
/// # Panics
/// If it does not build.
#[must_use]
pub fn ghyll() -> PathBuf {
    if let Some(program) = env::var_os("GHYLL_BIN") {
        return root().join(program);
    }
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let profile = if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        };
        let program = target().join(profile).join("ghyll");
        let sources = [
            "host/src",
            "host/build.rs",
            "guest/ghyll-policy.wasm",
            "wit",
            "scripts",
        ];
        let newest = sources.iter().map(|path| changed(&root().join(path))).max();
        if changed(&program) <= newest.flatten() {
            let mut build = Command::new(env!("CARGO"));
            build.args(["build", "--quiet", "--package", "ghyll", "--bin", "ghyll"]);
            if !cfg!(debug_assertions) {
                build.arg("--release");
            }
            succeed(build.arg("--target-dir").arg(target()).current_dir(root()));
        }
        program
    };
    BUILT.get_or_init(build).clone()
}

/// When a file, or the newest below a folder, was last changed.
fn changed(path: &Path) -> Option<SystemTime> {
    match fs::read_dir(path) {
        Ok(entries) => entries
            .map(|entry| changed(&entry.expect("an entry").path()))
            .max()
            .flatten(),
        Err(_) => fs::metadata(path).and_then(|meta| meta.modified()).ok(),
    }
}

/// Whether a program is here and answers `--version`.
fn present(program: &str) -> bool {
    output(Command::new(program).arg("--version")).is_some_and(|output| output.status.success())
}

/// A Python with the packages of `tests/hosts/python`, or None without Python.
///
/// # Panics
/// If Python is here, but the packages cannot be installed.
#[must_use]
pub fn python() -> Option<PathBuf> {
    python_of("python")
}

/// As [`python`], with the packages of another folder of `tests/hosts`.
///
/// # Panics
/// As [`python`].
#[must_use]
pub fn python_of(host: &str) -> Option<PathBuf> {
    if !present("python3") {
        return None;
    }
    let needed = hosts().join(host).join("requirements.txt");
    let home = set_up(host, &[&needed], |home| {
        succeed(Command::new("python3").args(["-m", "venv"]).arg(home));
        let mut pip = Command::new(home.join("bin/python"));
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        succeed(pip.arg("--requirement").arg(&needed));
    });
    Some(home.join("bin/python"))
}

/// A copy of `tests/hosts/node` with its packages, or None without Node and npm.
///
/// # Panics
/// If Node is here, but the packages cannot be installed.
#[must_use]
pub fn node() -> Option<PathBuf> {
    if !present("node") || !present("npm") {
        return None;
    }
    let source = hosts().join("node");
    let locked = ["package.json", "package-lock.json", ".npmrc"].map(|name| source.join(name));
    let home = set_up("node", &locked.each_ref(), |home| {
        for file in &locked {
            copy(file, home);
        }
        succeed(
            Command::new("npm")
                .args(["ci", "--no-audit", "--no-fund"])
                .current_dir(home),
        );
    });
    for entry in fs::read_dir(&source).expect("the Node host") {
        let file = entry.expect("an entry").path();
        if file.extension().is_some_and(|end| end == "mjs") {
            copy(&file, &home);
        }
    }
    Some(home)
}

fn copy(file: &Path, folder: &Path) {
    fs::copy(file, folder.join(file.file_name().expect("a name"))).expect("a copy");
}

/// A folder in `target/` made by `make`, made again when one of `sources` is
/// another than it was made from.
fn set_up(name: &str, sources: &[&PathBuf], make: impl FnOnce(&Path)) -> PathBuf {
    let hosts = target().join("hosts");
    fs::create_dir_all(&hosts).expect("a folder in target");
    // Tests run side by side, also in several processes; one sets up.
    let lock = fs::File::create(hosts.join(format!("{name}.lock"))).expect("a lock file");
    lock.lock().expect("the lock");
    let made_from: Vec<u8> = sources
        .iter()
        .flat_map(|file| fs::read(file).expect("a source"))
        .collect();
    let home = hosts.join(name);
    let stamp = hosts.join(format!("{name}.made-from"));
    if fs::read(&stamp).ok().as_ref() != Some(&made_from) {
        if home.exists() {
            fs::remove_dir_all(&home).expect("the old folder goes");
        }
        fs::create_dir_all(&home).expect("a folder in target");
        make(&home);
        fs::write(stamp, made_from).expect("the stamp");
    }
    home
}

/// The `target` folder this was built in: a test is
/// `<target>/<profile>/deps/<test>`, a program `<target>/<profile>/<program>`.
fn target() -> PathBuf {
    let own = env::current_exe().expect("this program's own path");
    let is_test = own.parent().is_some_and(|dir| dir.ends_with("deps"));
    let up = if is_test { 3 } else { 2 };
    own.ancestors().nth(up).expect("a target folder").into()
}
