//! Runs the crash, fault and damage campaigns and prints what they came to.
//!
//! ```sh
//! cargo run --release -p ghyll-tests --bin campaign -- --kills 2000
//! ```

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use ghyll_tests::survive::{damage, fault, kill};

const USAGE: &str = "campaign [--kills N] [--flips N] [--seed N]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [word, dir, seed] = args.as_slice()
        && word == "record"
    {
        // What the kill campaign starts and kills.
        return match kill::record(Path::new(dir), seed.parse().unwrap_or(0)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(words) => {
                eprintln!("{words}");
                ExitCode::FAILURE
            }
        };
    }
    let (mut kills, mut flips, mut seed) = (200, 2000, 1);
    for pair in args.chunks(2) {
        let value = pair.get(1).and_then(|n| n.parse().ok());
        match (pair.first().map(String::as_str), value) {
            (Some("--kills"), Some(n)) => kills = n,
            (Some("--flips"), Some(n)) => flips = n,
            (Some("--seed"), Some(n)) => seed = n,
            _ => {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::FAILURE;
        }
    };
    // Whatever is not as it has to be panics, and names the case.
    timed("cuts", || {
        let cuts = damage::cut_everywhere(1);
        format!("{cuts} (every offset of a file of three records): all as they must be")
    });
    timed("bit flips", || {
        format!("{}: all found", damage::flip_bits(flips, seed))
    });
    timed("faults", || {
        let f = fault::campaign();
        format!(
            "{} ({} recording, {} starting): {} records refused without a trace, {} taken and there",
            f.faults, f.recording, f.starting, f.refused, f.taken
        )
    });
    timed("kills", || {
        let k = kill::campaign(&program, kills, seed);
        format!(
            "{} ({} while starting): {} records acknowledged, every one there exactly once; {} more \
             written; {} times a surface behind the tree, {} partial lines, all put right; nothing else found",
            k.kills, k.while_starting, k.acknowledged, k.unacknowledged, k.behind, k.partial
        )
    });
    ExitCode::SUCCESS
}

fn timed(what: &str, run: impl FnOnce() -> String) {
    let started = Instant::now();
    let words = run();
    println!("{what}: {words} [{:.1} s]", started.elapsed().as_secs_f64());
}
