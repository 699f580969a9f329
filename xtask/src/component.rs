//! Building the component, so that the same sources and compiler give the same
//! bytes in any folder of any machine.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wit_component::{ComponentEncoder, DecodedWasm};

use crate::toolchain::{TARGET, Toolchain};
use crate::{Error, MAX_COMPONENT_BYTES, read};

/// What the guest uses of WebAssembly beyond what the target has anyway: four
/// words at once, for the hash. Engines have had it since 2021.
pub const TARGET_FEATURES: &str = "+simd128";

/// How the guest is compiled, as cargo settings.
///
/// The guest itself, where every byte of a line passes, and the hash for speed;
/// what they are built on for size, as the component is read and compiled as a
/// whole.
pub const RECIPE: &[(&str, &str)] = &[
    ("profile.release.opt-level", "\"s\""),
    ("profile.release.package.ghyll-policy.opt-level", "\"s\""),
    ("profile.release.package.sha2.opt-level", "3"),
    ("profile.release.lto", "\"fat\""),
    ("profile.release.codegen-units", "1"),
    ("profile.release.panic", "\"abort\""),
    ("profile.release.strip", "\"symbols\""),
    ("profile.release.debug", "false"),
    ("profile.release.incremental", "false"),
];

/// What cargo is to inherit of its own settings; everything else (of this very
/// cargo, of rustup) would leak into the build.
const INHERITED: [&str; 5] = [
    "CARGO_HOME",
    "CARGO_HTTP_",
    "CARGO_NET_",
    "CARGO_REGISTR",
    "CARGO_SOURCE_",
];

/// Compiles the guest at `root` and makes it a component. Intermediate files go
/// to `target_dir`.
///
/// # Errors
///
/// When compiling fails, or the result is not a component as promised.
pub fn build(root: &Path, toolchain: &Toolchain, target_dir: &Path) -> Result<Vec<u8>, Error> {
    let mut cargo = Command::new(&toolchain.cargo);
    cargo.current_dir(root);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let ours = ["CARGO", "RUST"].iter().any(|own| text.starts_with(own));
        if ours && !INHERITED.iter().any(|keep| text.starts_with(keep)) {
            cargo.env_remove(&name);
        }
    }
    cargo
        .args(["rustc", "--locked", "--release", "--lib"])
        .args(["--package", "ghyll-policy", "--features", "component"])
        .args(["--crate-type", "cdylib", "--target", TARGET])
        .arg("--target-dir")
        .arg(target_dir)
        .env("RUSTC", &toolchain.rustc)
        .env(
            "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER",
            &toolchain.linker,
        )
        .env("CARGO_ENCODED_RUSTFLAGS", flags(root, toolchain));
    for (key, value) in RECIPE {
        cargo.arg("--config").arg(format!("{key}={value}"));
    }
    if toolchain.build_std {
        cargo
            .arg("-Zbuild-std=core,alloc")
            .env("RUSTC_BOOTSTRAP", "1");
    }
    let failed = |detail: String| Error::Program {
        program: toolchain.cargo.display().to_string(),
        detail,
    };
    let status = cargo.status().map_err(|cause| failed(cause.to_string()))?;
    if !status.success() {
        return Err(failed(status.to_string()));
    }
    let module = target_dir.join(TARGET).join("release/ghyll_policy.wasm");
    let component = encode(&read(&module)?).map_err(Error::Component)?;
    inspect(&component).map_err(Error::Component)?;
    Ok(component)
}

/// What is used, and nothing of the folders of this machine.
fn flags(root: &Path, toolchain: &Toolchain) -> OsString {
    let mut folders: Vec<(PathBuf, &str)> = vec![(root.into(), "ghyll")];
    let library = toolchain.sysroot.join("lib/rustlib/src/rust");
    if let Ok(real) = library.canonicalize() {
        folders.push((real, "rust"));
    }
    folders.push((library, "rust"));
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let registry = cargo_home
        .or_else(|| Some(env::home_dir()?.join(".cargo")))
        .map(|home| home.join("registry/src"));
    if let Some(entries) = registry.and_then(|folder| fs::read_dir(folder).ok()) {
        folders.extend(entries.flatten().map(|entry| (entry.path(), "crates")));
    }
    let mut flags = OsString::from("-Ctarget-feature=");
    flags.push(TARGET_FEATURES);
    for (from, to) in folders {
        flags.push("\u{1f}--remap-path-prefix=");
        flags.push(from);
        flags.push("=");
        flags.push(to);
    }
    flags
}

fn encode(module: &[u8]) -> Result<Vec<u8>, String> {
    ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|encoder| encoder.encode())
        .map_err(|cause| format!("{cause:#}"))
}

/// Whether the component is as promised: it imports nothing, and is small.
///
/// # Errors
///
/// In words, what is not.
pub fn inspect(component: &[u8]) -> Result<(), String> {
    if component.len() > MAX_COMPONENT_BYTES {
        return Err(format!(
            "{} bytes, at most {MAX_COMPONENT_BYTES}",
            component.len()
        ));
    }
    let (imports, exports) = interfaces(component)?;
    if !imports.is_empty() {
        return Err(format!("it imports {}", imports.join(", ")));
    }
    if exports.is_empty() {
        return Err("it exports nothing".into());
    }
    Ok(())
}

/// The names of what a component imports and exports.
///
/// # Errors
///
/// When `component` is none.
pub fn interfaces(component: &[u8]) -> Result<(Vec<String>, Vec<String>), String> {
    let decoded = wit_component::decode(component).map_err(|cause| format!("{cause:#}"))?;
    let DecodedWasm::Component(resolve, world) = decoded else {
        return Err("a WIT package, not a component".into());
    };
    let world = resolve
        .worlds
        .get(world)
        .ok_or("a component without a world")?;
    let names =
        |items: &mut dyn Iterator<Item = _>| items.map(|key| resolve.name_world_key(key)).collect();
    Ok((
        names(&mut world.imports.keys()),
        names(&mut world.exports.keys()),
    ))
}
