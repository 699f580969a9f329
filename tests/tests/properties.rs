//! The properties that the fuzz targets try for hours, tried a little: every
//! seed as it is, then seeds with bytes changed, cut, doubled and mixed.
//!
//! `GHYLL_CASES` says how many times as often.

use std::fs;
use std::path::Path;

use ghyll_tests::properties::{ALL, Property};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

/// What is known to lead somewhere; what was found once stays here.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds");
    let mut files: Vec<_> = fs::read_dir(dir.join(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{name} has seeds");
    files.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// One change to some bytes.
#[derive(Debug, Clone)]
enum Edit {
    Put(Index, Vec<u8>),
    Cut(Index, usize),
    Flip(Index, u8),
    Twice(Index, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        (at(), prop::collection::vec(any::<u8>(), 0..6)).prop_map(|(at, put)| Edit::Put(at, put)),
        (at(), "\\PC{0,3}").prop_map(|(at, put)| Edit::Put(at, put.into_bytes())),
        (at(), 1..40_usize).prop_map(|(at, cut)| Edit::Cut(at, cut)),
        (at(), 0..8_u8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        (at(), 1..40_usize).prop_map(|(at, length)| Edit::Twice(at, length)),
    ]
}

impl Edit {
    fn make(&self, bytes: &mut Vec<u8>) {
        let at = |at: &Index| at.index(bytes.len() + 1);
        match self {
            Self::Put(index, put) => {
                let at = at(index);
                bytes.splice(at..at, put.iter().copied());
            }
            Self::Cut(index, length) => {
                let at = at(index);
                let end = bytes.len().min(at + length);
                bytes.drain(at..end);
            }
            Self::Flip(index, bit) => {
                let at = at(index);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            Self::Twice(index, length) => {
                let at = at(index);
                let end = bytes.len().min(at + length);
                let part = bytes[at..end].to_vec();
                bytes.splice(end..end, part);
            }
        }
    }
}

fn hold(property: &Property) {
    let seeds = seeds(property.name);
    for seed in &seeds {
        (property.holds)(seed);
    }
    let times = std::env::var("GHYLL_CASES").ok();
    let times: u32 = times.and_then(|n| n.parse().ok()).unwrap_or(1);
    let cases = property.cases.saturating_mul(times);
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::with_cases(cases)
    });
    let changed = (any::<Index>(), prop::collection::vec(edit(), 1..5));
    let run = runner.run(&changed, |(seed, edits)| {
        let mut bytes = seeds[seed.index(seeds.len())].clone();
        edits.iter().for_each(|edit| edit.make(&mut bytes));
        (property.holds)(&bytes);
        Ok(())
    });
    run.unwrap_or_else(|e| panic!("{}: {e}", property.name));
}

/// A test each, so that they run side by side and are told apart.
macro_rules! properties {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                let name = stringify!($name);
                hold(ALL.iter().find(|property| property.name == name).unwrap());
            }
        )*

        #[test]
        fn each_has_a_test_and_a_fuzz_target() {
            let mut tests = [$(stringify!($name)),*];
            tests.sort_unstable();
            let mut all = ALL.map(|property| property.name);
            all.sort_unstable();
            assert_eq!(tests, all);
            let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/fuzz_targets");
            for name in all {
                let target = fs::read_to_string(targets.join(format!("{name}.rs"))).unwrap();
                assert!(target.contains(&format!("properties::{name}(")), "{target}");
            }
        }
    };
}

properties!(path record check_lines op_id payload grid tree database script repl mcp chat);
