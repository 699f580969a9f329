//! The committed component is what the sources beside it say it is.
//!
//! None of this needs a wasm toolchain.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use xtask::{COMPONENT, LOCK, MAX_COMPONENT_BYTES, component, stale, workspace_root};

fn committed() -> Vec<u8> {
    fs::read(workspace_root().join(COMPONENT)).unwrap()
}

#[test]
fn it_is_built_from_these_sources() {
    let reasons = stale(&workspace_root()).unwrap();
    assert!(
        reasons.is_empty(),
        "stale, run `cargo xtask component`:\n{}",
        reasons.join("\n")
    );
}

#[test]
fn it_imports_nothing() {
    let (imports, exports) = component::interfaces(&committed()).unwrap();
    assert_eq!(imports, [""; 0]);
    let expected = ["hints", "operators", "paths", "records", "units"];
    let mut exports: Vec<_> = exports
        .iter()
        .filter_map(|name| name.strip_prefix("ghyll:policy/")?.strip_suffix("@0.2.0"))
        .collect();
    exports.sort_unstable();
    assert_eq!(exports, expected);
}

#[test]
fn it_is_small() {
    let bytes = committed().len();
    assert!(bytes <= MAX_COMPONENT_BYTES, "{bytes} bytes");
}

#[test]
fn no_folder_of_the_machine_that_built_it_is_inside() {
    let component = committed();
    let text = String::from_utf8_lossy(&component);
    for trace in [
        "/home/",
        "/Users/",
        "/usr/",
        ".cargo",
        "registry/src",
        "rustlib",
        "C:\\",
        "D:\\",
    ] {
        assert!(!text.contains(trace), "contains {trace}");
    }
    let root = workspace_root();
    for folder in [Some(root.as_path()), root.parent()].into_iter().flatten() {
        if folder != Path::new("/") {
            assert!(!text.contains(&*folder.to_string_lossy()));
        }
    }
}

/// A copy of what staleness is judged by.
fn copy() -> TempDir {
    fn copy_into(from: &Path, to: &Path) {
        if from.is_dir() {
            fs::create_dir_all(to).unwrap();
            for entry in fs::read_dir(from).unwrap() {
                let entry = entry.unwrap();
                copy_into(&entry.path(), &to.join(entry.file_name()));
            }
        } else {
            fs::copy(from, to).unwrap();
        }
    }
    let folder = TempDir::new().unwrap();
    for name in ["Cargo.toml", "Cargo.lock", "guest", "wit"] {
        copy_into(&workspace_root().join(name), &folder.path().join(name));
    }
    folder
}

fn replace(folder: &TempDir, file: &str, from: &str, to: &str) {
    let path = folder.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    fs::write(&path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn a_copy_is_as_current_as_the_original() {
    assert_eq!(stale(copy().path()).unwrap(), [""; 0]);
}

#[test]
fn a_change_of_any_source_makes_it_stale() {
    for (file, from, to, reason) in [
        (
            "guest/src/paths/segment.rs",
            "255",
            "254",
            "files: guest/src/paths/segment.rs changed",
        ),
        (
            "guest/Cargo.toml",
            "[features]",
            "#\n[features]",
            "files: guest/Cargo.toml changed",
        ),
        (
            "wit/policy.wit",
            "///",
            "//",
            "files: wit/policy.wit changed",
        ),
        (
            "Cargo.toml",
            "edition = \"2024\"",
            "edition = \"2021\"",
            "settings: workspace.package.edition changed",
        ),
    ] {
        let folder = copy();
        replace(&folder, file, from, to);
        assert_eq!(stale(folder.path()).unwrap(), [reason]);
    }
    let folder = copy();
    fs::write(folder.path().join("guest/src/new.rs"), "").unwrap();
    fs::remove_file(folder.path().join("guest/src/line.rs")).unwrap();
    assert_eq!(
        stale(folder.path()).unwrap(),
        [
            "files: guest/src/line.rs is gone",
            "files: guest/src/new.rs is new"
        ]
    );
}

#[test]
fn another_version_of_a_dependency_makes_it_stale() {
    let folder = copy();
    let path = folder.path().join("Cargo.lock");
    let text = fs::read_to_string(&path).unwrap();
    let at = text.find("name = \"dlmalloc\"\nversion = \"").unwrap();
    let (before, after) = text.split_at(at);
    fs::write(
        &path,
        format!(
            "{before}{}",
            after.replacen("version = \"0.", "version = \"9.", 1)
        ),
    )
    .unwrap();
    let reasons = stale(folder.path()).unwrap();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(
        reasons
            .iter()
            .all(|reason| reason.starts_with("crates: dlmalloc "))
    );
}

#[test]
fn another_component_makes_it_stale() {
    let folder = copy();
    let mut bytes = committed();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(folder.path().join(COMPONENT), bytes).unwrap();
    assert_eq!(
        stale(folder.path()).unwrap(),
        [format!("{COMPONENT} is not the one the lock names")]
    );
}

#[test]
fn a_lock_edited_by_hand_is_refused() {
    let folder = copy();
    replace(
        &folder,
        LOCK,
        "\"guest/src/paths/segment.rs\" = \"",
        "\"guest/src/paths/segment.rs\" = \"0",
    );
    let error = stale(folder.path()).unwrap_err().to_string();
    assert!(error.contains("not the hash of its parts"), "{error}");
}
