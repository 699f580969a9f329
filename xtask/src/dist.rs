//! The archive of a release: the program, its manual, its completions, the
//! licences.
//!
//! The same files give the same archive, byte for byte: names are sorted, and
//! what says who made it, and when, is left out.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::{Compression, GzBuilder};

use crate::sources::sha256;
use crate::{Error, cargo, read, read_toml, said};

/// What goes in as it stands in the repository.
const PAPERS: [&str; 4] = ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];
/// Shells, and what each calls a file of completions.
const SHELLS: [(&str, &str); 3] = [("bash", "ghyll"), ("fish", "ghyll.fish"), ("zsh", "_ghyll")];

/// An archive that was made.
#[derive(Debug)]
pub struct Made {
    /// Where it is.
    pub path: PathBuf,
    /// Its SHA-256, in hex, which stands beside it too.
    pub sha256: String,
}

/// Makes the archive below `target/dist`, of `binary` or else of one that is
/// built for it.
///
/// # Errors
///
/// A file that cannot be read or written, a program that fails.
pub fn run(root: &Path, binary: Option<&Path>) -> Result<Made, Error> {
    let built = root
        .join("target/release/ghyll")
        .with_extension(std::env::consts::EXE_EXTENSION);
    let binary = match binary {
        Some(binary) => binary,
        None => {
            let build = ["build", "--release", "--locked", "-p", "ghyll"];
            said(Command::new(cargo()).args(build).current_dir(root))?;
            &built
        }
    };
    let name = format!("ghyll-{}-{}", version(root)?, target(root)?);
    let entries = entries(root, binary)?;
    let dist = root.join("target/dist");
    fs::create_dir_all(&dist).map_err(Error::io(&dist))?;
    let path = dist.join(format!("{name}.tar.gz"));
    let bytes = archive(&name, &entries).map_err(Error::io(&path))?;
    fs::write(&path, &bytes).map_err(Error::io(&path))?;
    let sha256 = sha256(&bytes);
    let beside = dist.join(format!("{name}.tar.gz.sha256"));
    let line = format!("{sha256}  {name}.tar.gz\n");
    fs::write(&beside, line).map_err(Error::io(&beside))?;
    Ok(Made { path, sha256 })
}

/// A file of the archive: its content, and whether it is a program.
type Content = (Vec<u8>, bool);

fn entries(root: &Path, binary: &Path) -> Result<BTreeMap<String, Content>, Error> {
    let mut all = BTreeMap::new();
    let program = format!("ghyll{}", std::env::consts::EXE_SUFFIX);
    all.insert(format!("bin/{program}"), (read(binary)?, true));
    for paper in PAPERS {
        all.insert(paper.to_owned(), (read(&root.join(paper))?, false));
    }
    for (shell, file) in SHELLS {
        let script = said(Command::new(binary).args(["completions", shell]))?;
        all.insert(format!("completions/{shell}/{file}"), (script, false));
    }
    let temp = tempfile::tempdir().map_err(Error::io(Path::new("a temporary directory")))?;
    said(Command::new(binary).arg("man").arg(temp.path()))?;
    for entry in fs::read_dir(temp.path()).map_err(Error::io(temp.path()))? {
        let path = entry.map_err(Error::io(temp.path()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        all.insert(format!("man/man1/{name}"), (read(&path)?, false));
    }
    Ok(all)
}

fn archive(name: &str, entries: &BTreeMap<String, Content>) -> std::io::Result<Vec<u8>> {
    // A header of its own: without name, time and system.
    let zip = GzBuilder::new().write(Vec::new(), Compression::best());
    let mut tar = tar::Builder::new(zip);
    for (path, (bytes, program)) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(if *program { 0o755 } else { 0o644 });
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        tar.append_data(&mut header, format!("{name}/{path}"), bytes.as_slice())?;
    }
    let mut zip = tar.into_inner()?;
    zip.flush()?;
    zip.finish()
}

fn version(root: &Path) -> Result<String, Error> {
    let path = root.join("Cargo.toml");
    let manifest = read_toml(&path)?;
    let version = manifest
        .get("workspace")
        .and_then(|it| it.get("package")?.get("version")?.as_str());
    let version = version.ok_or_else(|| Error::malformed(&path, "no version"))?;
    Ok(version.to_owned())
}

/// The target that is built for: this machine's.
fn target(root: &Path) -> Result<String, Error> {
    let told = said(Command::new("rustc").arg("-vV").current_dir(root))?;
    let told = String::from_utf8_lossy(&told).into_owned();
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    let unknown = || Error::Program {
        program: "rustc -vV".to_owned(),
        detail: "names no host".to_owned(),
    };
    Ok(host.ok_or_else(unknown)?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_give_the_same_archive() {
        let entries = BTreeMap::from([
            ("bin/ghyll".to_owned(), (b"program".to_vec(), true)),
            ("README.md".to_owned(), (b"read".to_vec(), false)),
        ]);
        let bytes = archive("ghyll-1", &entries).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1100));
        assert_eq!(bytes, archive("ghyll-1", &entries).unwrap());
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
        let read: Vec<(String, u32)> = tar
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let path = entry.path().unwrap().to_string_lossy().into_owned();
                assert_eq!(entry.header().mtime().unwrap(), 0);
                (path, entry.header().mode().unwrap())
            })
            .collect();
        let expected = [("ghyll-1/README.md", 0o644), ("ghyll-1/bin/ghyll", 0o755)];
        assert_eq!(read, expected.map(|(path, mode)| (path.to_owned(), mode)));
    }
}
