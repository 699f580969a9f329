//! Runs the crash, fault and damage campaigns and prints what they came to.
//!
//! ```sh
//! cargo run --release -p ghyll-tests --bin campaign -- --kills 2000
//! ```

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ghyll_tests::hands::{self, throughput};
use ghyll_tests::survive::{damage, fault, kill, limits, recover, syscall};
use ghyll_tests::{clones, runtimes, same};

const USAGE: &str = "campaign [--kills N] [--flips N] [--histories N] [--git N] [--states N] [--calls N] [--seed N]
campaign histories|git|states|calls N SEED
campaign hands ROUNDS SEED [HANDS [calm]]   many processes on one project; calm: none is killed or stopped
campaign steps STRIDE [DOING…]              one process step by step, another in between; a debug build
campaign throughput SECONDS [DIR]           what several processes record, on a project below DIR";

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
    if let [word, count, seed] = args.as_slice()
        && let Some(play) = match word.as_str() {
            "histories" => Some(histories as fn(u64, u64)),
            "git" => Some(git as fn(u64, u64)),
            "states" => Some(lead_out as fn(u64, u64)),
            "calls" => Some(fail_calls as fn(u64, u64)),
            _ => None,
        }
    {
        let number = |text: &str| text.parse().unwrap_or(1);
        play(number(count), number(seed));
        return ExitCode::SUCCESS;
    }
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["hands", rounds, seed, ref more @ ..] => {
            let (Ok(rounds), Ok(seed)) = (rounds.parse(), seed.parse()) else {
                return usage();
            };
            let calm = more.get(1) == Some(&"calm");
            many_hands(hands::Plan {
                rounds,
                seed,
                hands: more.first().and_then(|n| n.parse().ok()).unwrap_or(6),
                on_one_project: 400,
                kills: !calm,
                stops: !calm,
            });
            return ExitCode::SUCCESS;
        }
        #[cfg(debug_assertions)]
        ["steps", stride, ref more @ ..] => {
            let Ok(stride) = stride.parse() else {
                return usage();
            };
            step_by_step(stride, more);
            return ExitCode::SUCCESS;
        }
        ["throughput", seconds, ref more @ ..] => {
            let Ok(seconds) = seconds.parse() else {
                return usage();
            };
            let on = more.first().map(PathBuf::from);
            figures(Duration::from_secs(seconds), on.as_deref());
            return ExitCode::SUCCESS;
        }
        // What the one above starts.
        ["throughput-worker", dir, arrow, millis] => {
            let millis = millis.parse().unwrap_or(0);
            return match throughput::record(Path::new(dir), arrow, millis) {
                Ok(()) => ExitCode::SUCCESS,
                Err(words) => {
                    eprintln!("{words}");
                    ExitCode::FAILURE
                }
            };
        }
        _ => {}
    }
    let (mut kills, mut flips, mut played, mut clones, mut seed) = (200, 2000, 1000, 20, 1);
    let (mut states, mut calls) = (300, 40);
    for pair in args.chunks(2) {
        let value = pair.get(1).and_then(|n| n.parse().ok());
        match (pair.first().map(String::as_str), value) {
            (Some("--kills"), Some(n)) => kills = n,
            (Some("--flips"), Some(n)) => flips = n,
            (Some("--histories"), Some(n)) => played = n,
            (Some("--git"), Some(n)) => clones = n,
            (Some("--states"), Some(n)) => states = n,
            (Some("--calls"), Some(n)) => calls = n,
            (Some("--seed"), Some(n)) => seed = n,
            _ => return usage(),
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
        let f = fault::campaign(&fault::WAYS, &[0, 1, 2, 3, 1000]);
        format!(
            "{} ({} recording, {} starting): {} records refused without a trace, {} taken and there",
            f.faults, f.recording, f.starting, f.refused, f.taken
        )
    });
    timed("file size limit", || {
        let l = limits::file_size(&program, 400);
        format!(
            "{} records acknowledged and there, then {} refused",
            l.acknowledged, l.refused
        )
    });
    timed("full disk", || match limits::full_disk(&program, 400) {
        Some(l) => format!(
            "{} records acknowledged and there, then {} refused",
            l.acknowledged, l.refused
        ),
        None => "skipped: a small tmpfs cannot be mounted here".to_owned(),
    });
    histories(played, seed);
    git(clones, seed);
    lead_out(states, seed);
    fail_calls(calls, seed);
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

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

fn many_hands(plan: hands::Plan) {
    timed("hands", || {
        let t = hands::campaign(&runtimes::ghyll(), plan);
        format!(
            "{} rounds on {} projects by {} hands; {} killed, {} stopped ({} of them for longer than \
             a lock is waited for)\n  {} verdicts acknowledged, every one there once; {} records, {} of \
             them later rounds, none missing; {} laid over nothing their operator was not shown; \
             every question asked until it was answered\n  the longest command beside which \
             nobody was stopped: {:.1} s\n  done: {:?}\n  refused as it has to be: {:?}\n ",
            t.rounds(),
            t.projects,
            plan.hands,
            t.kills,
            t.stops,
            t.long_stops,
            t.acknowledged,
            t.records,
            t.later_rounds,
            t.shown,
            t.longest.as_secs_f64(),
            t.acts,
            t.refused,
        )
    });
}

/// All pairs, or those whose doings are named.
#[cfg(debug_assertions)]
fn step_by_step(stride: usize, named: &[&str]) {
    use hands::steps::{ONES, OTHERS, campaign};
    let is_named = |doing: String| named.is_empty() || named.contains(&doing.as_str());
    for one in ONES.into_iter().filter(|one| is_named(format!("{one:?}"))) {
        timed(&format!("{one:?}, step by step"), || {
            let s = campaign(&runtimes::ghyll(), &[one], &OTHERS, stride);
            format!(
                "{} others at {} steps, {} of these under the lock; {} times refused as it has to be; \
                 all as it must be",
                s.pairs, s.steps, s.held, s.refused
            )
        });
    }
}

fn figures(time: Duration, on: Option<&Path>) {
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    println!(
        "processes  arrows      verdicts/s   against one alone   fewest..most of one    longest   starved"
    );
    let mut alone = None;
    for (processes, on_one) in [(1, true), (2, false), (2, true), (8, false), (8, true)] {
        let f = throughput::measure(&program, on, processes, on_one, time);
        let alone = *alone.get_or_insert(f.rate());
        println!(
            "{:>9}  {:<10}  {:>10.1}   {:>17.2}   {:>19}   {:>5} ms   {:>7}",
            f.processes,
            if on_one { "one" } else { "each its own" },
            f.rate(),
            f.rate() / alone,
            format!("{}..{}", f.share.0, f.share.1),
            f.longest.as_millis(),
            f.starved,
        );
    }
}

fn histories(count: u64, seed: u64) {
    timed("histories", || {
        let s = same::campaign(&runtimes::ghyll(), count, seed);
        format!(
            "{}, looked at {} times and asked by {} commands: reading said what a session said; \
             refused: {:?}",
            s.histories, s.looks, s.commands, s.refused
        )
    });
}

fn git(count: u64, seed: u64) {
    timed("git", || {
        let s = clones::campaign::play(count, seed);
        format!(
            "{} times two clones and three branches: {} verdicts given, {} on record in both clones; \
             {} merges, {} switches; {} looks, at each of which every clause was as counted, {} of \
             them answered in both clones; none lost, none hidden",
            s.seeds, s.given, s.on_record, s.merges, s.switches, s.looks, s.concurrent
        )
    });
}

/// From damaged states, by what the messages say.
fn lead_out(states: u64, seed: u64) {
    timed("damaged states", || {
        let r = recover::campaign(&runtimes::ghyll(), states, seed);
        format!(
            "{}, {} led out of by {} commands that the messages named: {} good records, all there",
            r.states, r.led, r.commands, r.records
        )
    });
}

/// At most so many faults at the system call a command.
fn fail_calls(each: u64, seed: u64) {
    let campaign = || syscall::campaign(&runtimes::ghyll(), each, seed);
    timed("faults at the system call", || match campaign() {
        Some(i) => format!(
            "{}: {} commands done all the same, {} refused with a code; {:?}",
            i.count(),
            i.done,
            i.refused,
            i.faults
        ),
        None => "skipped: strace is not here, or may not trace".to_owned(),
    });
}

fn timed(what: &str, run: impl FnOnce() -> String) {
    let started = Instant::now();
    let words = run();
    println!("{what}: {words} [{:.1} s]", started.elapsed().as_secs_f64());
}
