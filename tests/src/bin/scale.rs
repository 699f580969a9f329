//! Makes a valid project of any size, see `ghyll_tests::scale`.
//!
//! ```sh
//! cargo run --release -p ghyll-tests --bin scale -- /tmp/large --records 1000000
//! ```

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use ghyll::policy::Policy;
use ghyll_tests::scale::{Plan, make};

const USAGE: &str = "scale DIR [--records N] [--seed N] [--contexts N] [--pairs N] \
    [--per-file N] [--covered FILES]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let usage = || {
        eprintln!("{USAGE}");
        ExitCode::from(2)
    };
    let Some((dir, options)) = args.split_first() else {
        return usage();
    };
    let mut plan = Plan::default();
    for pair in options.chunks(2) {
        let [name, value] = pair else { return usage() };
        let Ok(number) = value.parse::<u32>() else {
            return usage();
        };
        match name.as_str() {
            "--records" => plan.records = number.into(),
            "--seed" => plan.seed = number.into(),
            "--contexts" => plan.contexts = number.clamp(1, 100),
            "--pairs" => plan.pairs = number.clamp(1, 99),
            "--per-file" => plan.per_file = u64::from(number).max(1),
            "--covered" => plan.covered = number,
            _ => return usage(),
        }
    }
    let started = Instant::now();
    let policy = match Policy::load() {
        Ok(policy) => policy,
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::FAILURE;
        }
    };
    let made = make(Path::new(dir), &plan, &policy);
    println!(
        "{} records in {} files, {} bytes [{:.1} s]",
        made.records,
        made.files,
        made.bytes,
        started.elapsed().as_secs_f64()
    );
    ExitCode::SUCCESS
}
