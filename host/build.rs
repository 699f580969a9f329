//! Compiles the committed policy component ahead of time, so that the binary
//! embeds machine code and links no compiler.

use std::fmt::Write;
use std::path::PathBuf;
use std::{env, error::Error, fs};

use wasmtime::component::{Component, ComponentType, Lift, Linker};
use wasmtime::{Engine, Store};

mod config {
    include!("src/policy/config.rs");
}

fn main() -> Result<(), Box<dyn Error>> {
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    // In the repository these stand beside this package, in a package within it
    // (`cargo xtask package` puts them there).
    let packaged = manifest.join("packaged");
    println!("cargo:rustc-check-cfg=cfg(packaged)");
    let (component, wit, sample) = if packaged.is_dir() {
        // Only where it is: what is not there would count as changed each time.
        println!("cargo:rerun-if-changed={}", packaged.display());
        println!("cargo:rustc-cfg=packaged");
        let component = packaged.join("ghyll-policy.wasm");
        (component, packaged.join("wit"), packaged.join("sample"))
    } else {
        let beside = |name: &str| manifest.join("..").join(name);
        let component = beside("guest/ghyll-policy.wasm");
        (component, beside("wit"), beside("scripts/sample"))
    };
    for (name, path) in [
        ("GHYLL_COMPONENT", &component),
        ("GHYLL_WIT", &wit),
        ("GHYLL_SAMPLE", &sample),
    ] {
        println!("cargo:rustc-env={name}={}", path.display());
    }
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
    let engine = Engine::new(&config)?;
    let compiled = engine.precompile_component(&bytes)?;

    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("ghyll-policy.cwasm"), compiled)?;
    fs::write(out.join("unshown.rs"), unshown(&bytes)?)?;
    Ok(())
}

/// The component's table of what may not be shown: every printed character is
/// looked up in it, and not every printer has a component at hand.
fn unshown(component: &[u8]) -> Result<String, Box<dyn Error>> {
    // On this machine, which need not be the one that is built for.
    let engine = Engine::new(&config::engine_config())?;
    let component = Component::new(&engine, component)?;
    let mut store = Store::new(&engine, ());
    store.set_epoch_deadline(1);
    let instance = Linker::new(&engine).instantiate(&mut store, &component)?;
    let missing = "the component exports no operators.unshown";
    let interface = instance
        .get_export_index(&mut store, None, "ghyll:policy/operators@0.2.0")
        .ok_or(missing)?;
    let function = instance
        .get_export_index(&mut store, Some(&interface), "unshown")
        .ok_or(missing)?;
    let function = instance.get_typed_func::<(), (Vec<Range>,)>(&mut store, function)?;
    let (ranges,) = function.call(&mut store, ())?;
    let mut text = String::from("&[");
    for range in ranges {
        let (start, end) = (char::try_from(range.start)?, char::try_from(range.end)?);
        write!(
            text,
            "('{}','{}'),",
            start.escape_unicode(),
            end.escape_unicode()
        )?;
    }
    text.push(']');
    Ok(text)
}

/// The contract's `operators.range`.
#[derive(ComponentType, Lift)]
#[component(record)]
struct Range {
    start: u32,
    end: u32,
}
