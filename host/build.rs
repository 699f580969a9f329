//! Compiles the committed policy component ahead of time, so that the binary
//! embeds machine code and links no compiler.

use std::path::PathBuf;
use std::{env, error::Error, fs};

mod config {
    include!("src/policy/config.rs");
}

fn main() -> Result<(), Box<dyn Error>> {
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let component = manifest.join("../guest/ghyll-policy.wasm");
    println!("cargo:rerun-if-changed={}", component.display());
    println!("cargo:rerun-if-changed=src/policy/config.rs");

    let bytes = fs::read(&component).map_err(|e| {
        format!(
            "{}: {e}; `cargo xtask component` builds it",
            component.display()
        )
    })?;
    let mut config = config::engine_config();
    config.target(&env::var("TARGET")?)?;
    let engine = wasmtime::Engine::new(&config)?;
    let compiled = engine.precompile_component(&bytes)?;

    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("ghyll-policy.cwasm"), compiled)?;
    Ok(())
}
