//! Finding a compiler that can build for wasm.
//!
//! Two kinds are known: one that brings the target's standard library (rustup's,
//! after `rustup target add`), and one that brings the library's source, from
//! which cargo then builds it (Debian's). Bytes are only comparable between
//! builds by the same one, so what was used is recorded.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, said};

/// The target the guest is compiled for.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// What decides, besides the sources, the bytes of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// What `rustc --version` says.
    pub rustc: String,
    /// Where the standard library comes from: `prebuilt` or `source`.
    pub library: String,
    /// What the linker says of itself.
    pub linker: String,
}

/// A compiler, and how to call it.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// `rustc`, never a proxy.
    pub rustc: PathBuf,
    /// `cargo`, never a proxy.
    pub cargo: PathBuf,
    /// Its library, linker and own files.
    pub sysroot: PathBuf,
    /// The linker.
    pub linker: PathBuf,
    /// Whether cargo must build the standard library.
    pub build_std: bool,
    /// What it is called in the lock.
    pub compiler: Compiler,
}

const INSTALL: &str = "no compiler here can build for wasm32-unknown-unknown; install one of
  rustup target add wasm32-unknown-unknown
  apt-get install rustc-web cargo-web rust-web-src lld   (Debian, Ubuntu)";

impl Toolchain {
    /// Finds one: rustup's or whichever `rustc` comes first, then the system's;
    /// one with the target's library before one with its source.
    ///
    /// # Errors
    ///
    /// When there is none, with what to install.
    pub fn find(root: &Path) -> Result<Self, Error> {
        let mut sysroots = Vec::new();
        for rustc in ["rustc", "/usr/bin/rustc"] {
            if let Ok(sysroot) = output(
                Command::new(rustc)
                    .args(["--print", "sysroot"])
                    .current_dir(root),
            ) {
                let sysroot = PathBuf::from(sysroot);
                if !sysroots.contains(&sysroot) {
                    sysroots.push(sysroot);
                }
            }
        }
        for (build_std, library) in [(false, "prebuilt"), (true, "source")] {
            for sysroot in &sysroots {
                let rustlib = sysroot.join("lib/rustlib");
                let needed = if build_std {
                    rustlib.join("src/rust/library/Cargo.toml")
                } else {
                    rustlib.join(TARGET).join("lib")
                };
                let (rustc, cargo) = (sysroot.join("bin/rustc"), sysroot.join("bin/cargo"));
                if !(needed.exists() && rustc.exists() && cargo.exists()) {
                    continue;
                }
                let linker = find_linker(sysroot, &sysroots)?;
                let compiler = Compiler {
                    rustc: output(Command::new(&rustc).arg("--version"))?,
                    library: library.into(),
                    linker: output(Command::new(&linker).args(["-flavor", "wasm", "--version"]))?,
                };
                return Ok(Self {
                    rustc,
                    cargo,
                    sysroot: sysroot.clone(),
                    linker,
                    build_std,
                    compiler,
                });
            }
        }
        Err(Error::NoToolchain(INSTALL.into()))
    }
}

/// The compiler's own linker, else another one's, else the system's.
fn find_linker(own: &Path, sysroots: &[PathBuf]) -> Result<PathBuf, Error> {
    let bundled = std::iter::once(own)
        .chain(sysroots.iter().map(PathBuf::as_path))
        .filter_map(|sysroot| {
            // `lib/rustlib/<host>/bin/rust-lld`, whatever the host is.
            let hosts = std::fs::read_dir(sysroot.join("lib/rustlib")).ok()?;
            hosts
                .filter_map(|host| Some(host.ok()?.path().join("bin/rust-lld")))
                .find(|linker| linker.exists())
        });
    let path = env::var_os("PATH").unwrap_or_default();
    let system = env::split_paths(&path)
        .map(|folder| folder.join("lld"))
        .filter(|linker| linker.exists());
    bundled
        .chain(system)
        .next()
        .ok_or_else(|| Error::NoToolchain("no linker for wasm; install lld".into()))
}

/// What a program prints, trimmed.
fn output(command: &mut Command) -> Result<String, Error> {
    let told = said(command)?;
    Ok(String::from_utf8_lossy(&told).trim().into())
}
