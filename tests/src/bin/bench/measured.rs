//! What a process took: time, processor time, memory.
//!
//! A process is measured by another that starts it and nothing else, for what
//! the system tells of ended children is told of all of them together.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

/// What something took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// From start to end.
    pub elapsed: Duration,
    /// Processor time.
    pub processor: Duration,
    /// The most memory, in KiB; 0 where it was not looked at.
    pub kib: u64,
}

impl Cost {
    /// Something that took only time.
    pub fn of(elapsed: Duration) -> Self {
        Self {
            elapsed,
            ..Self::default()
        }
    }

    /// The median of several, each value for itself; memory is the most.
    pub fn median(costs: &[Self]) -> Self {
        let middle = |value: fn(&Self) -> Duration| {
            let mut values: Vec<Duration> = costs.iter().map(value).collect();
            values.sort();
            values.get(values.len() / 2).copied().unwrap_or_default()
        };
        Self {
            elapsed: middle(|cost| cost.elapsed),
            processor: middle(|cost| cost.processor),
            kib: costs.iter().map(|cost| cost.kib).max().unwrap_or(0),
        }
    }
}

/// Runs a program to its end, its output read and forgotten.
///
/// # Errors
/// If it cannot be run, or ends with another code than those given.
pub fn run(dir: &Path, program: &Path, args: &[&str], codes: &[i32]) -> Result<Cost, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = Command::new(own)
        .arg("measured")
        .arg(program)
        .args(args)
        .current_dir(dir)
        .output()
        .map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<i64> = text
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [code, elapsed, processor, kib] = numbers[..] else {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {words}", program.display()));
    };
    if !codes.iter().any(|one| i64::from(*one) == code) {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{} {args:?}: exit {code}: {words}",
            program.display()
        ));
    }
    Ok(Cost {
        elapsed: Duration::from_micros(elapsed.unsigned_abs()),
        processor: Duration::from_micros(processor.unsigned_abs()),
        kib: kib.unsigned_abs(),
    })
}

/// A script of the shell's, measured with all it starts.
///
/// # Errors
/// As [`run`].
pub fn shell(dir: &Path, script: &str) -> Result<Cost, String> {
    run(dir, Path::new("/bin/sh"), &["-c", script], &[0])
}

/// The process that measures.
pub fn serve(args: &[String]) -> ExitCode {
    let Some((program, args)) = args.split_first() else {
        return ExitCode::from(2);
    };
    match measure(program, args) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("{program}: {e}");
            ExitCode::FAILURE
        }
    }
}

fn measure(program: &str, args: &[String]) -> io::Result<String> {
    let started = Instant::now();
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut said) = child.stdout.take() {
        io::copy(&mut said, &mut io::sink())?;
    }
    let status = child.wait()?;
    let elapsed = started.elapsed();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = |time: nix::sys::time::TimeVal| time.tv_sec() * 1_000_000 + time.tv_usec();
    Ok(format!(
        "{} {} {} {}",
        status.code().unwrap_or(-1),
        elapsed.as_micros(),
        micros(usage.user_time()) + micros(usage.system_time()),
        usage.max_rss()
    ))
}
