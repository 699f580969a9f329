use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// Something to find processes by, in what they were started with.
fn marker() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // As long as `sleep` takes, and no other's.
    format!("{}.{count}", 100_000 + std::process::id())
}

/// Processes that were started with `marker` among their arguments and are
/// no zombies.
fn alive(marker: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .filter(|line| {
            line.windows(marker.len())
                .any(|word| word == marker.as_bytes())
        })
        .count()
}

/// Those that were killed may take a moment to be gone.
fn none_is_left(marker: &str) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while alive(marker) > 0 {
        assert!(Instant::now() < deadline, "something runs on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn sh_with(line: &str, timeout: Duration, cancel: &Cancel) -> Result<Finished, RunError> {
    let argv = ["sh", "-c", line].map(str::to_owned);
    run(&argv, Path::new("/"), timeout, cancel)
}

fn sh(line: &str, millis: u64) -> Finished {
    sh_with(line, Duration::from_millis(millis), &Cancel::default()).unwrap()
}

#[test]
fn the_exit_code_decides_and_the_words_are_kept() {
    let finished = sh("echo out; echo err >&2; exit 3", 10_000);
    assert_eq!(finished.ended, Ended::Exited(3));
    assert!(!finished.passed());
    assert_eq!(finished.detail(), "sh: exit status: 3\nout\nerr");
    assert_eq!((&*finished.stdout, &*finished.stderr), ("out\n", "err\n"));
    assert!(finished.took < Duration::from_secs(10));
    assert!(sh("exit 0", 10_000).passed());
    assert!(sh("test -t 0 && exit 1; read x || exit 0", 10_000).passed());
}

#[test]
fn a_signal_that_ended_it_is_named() {
    let finished = sh("kill -9 $$", 10_000);
    assert_eq!(finished.ended, Ended::Signalled(9));
    assert_eq!(finished.detail(), "sh: signal: 9 (SIGKILL)");
}

#[test]
fn the_end_of_what_it_says_is_kept_and_no_half_character() {
    let finished = sh("for i in $(seq 1500); do echo \"é$i\"; done", 20_000);
    assert!(finished.stdout.len() <= 2048);
    assert!(finished.stdout.ends_with("é1499\né1500\n"));
    assert!(!finished.stdout.contains('\u{fffd}'), "{}", finished.stdout);
    let last = Finished::last_lines(&finished.stdout, 10);
    assert_eq!((last.len(), last[0], last[9]), (10, "é1491", "é1500"));
    assert_eq!(Finished::last_lines("one\n", 10), ["one"]);
}

#[test]
fn a_command_and_its_children_end_with_their_time_whatever_they_ignore() {
    for line in [
        "sleep $M & sleep $M",
        "trap '' TERM INT HUP; sleep $M & sleep $M",
        "(sleep $M & sleep $M &) & sleep $M",
        "sleep $M >/dev/null 2>&1 & exec sleep $M",
    ] {
        let marker = marker();
        let started = Instant::now();
        let finished = sh(&line.replace("$M", &marker), 300);
        assert_eq!(finished.ended, Ended::TimedOut, "{line}");
        assert_eq!(finished.detail(), "sh: not done after 0.3 s");
        none_is_left(&marker);
        assert!(started.elapsed() < Duration::from_secs(10), "{line}");
    }
}

#[test]
fn what_it_said_before_its_time_was_up_is_kept() {
    let finished = sh("echo half; sleep 60", 500);
    assert_eq!(finished.detail(), "sh: not done after 0.5 s\nhalf");
}

#[test]
fn nothing_it_left_behind_runs_on_and_late_words_are_heard() {
    let marker = marker();
    let finished = sh(&format!("sleep {marker} & echo done"), 60_000);
    assert_eq!(finished.detail(), "sh: exit status: 0\ndone");
    none_is_left(&marker);
    let finished = sh("(sleep 0.2; echo late) & exit 0", 60_000);
    assert_eq!(finished.stdout, "late\n");
}

#[test]
fn it_is_called_off_at_once_and_says_nothing_about_the_work() {
    let marker = marker();
    let cancel = Cancel::default();
    let other = cancel.clone();
    let line = format!("sleep {marker}");
    let run = std::thread::spawn(move || sh_with(&line, Duration::from_secs(60), &other));
    while alive(&marker) == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    cancel.cancel();
    let error = run.join().unwrap().unwrap_err();
    assert_eq!(error.code(), "dispatch-cancelled");
    none_is_left(&marker);
    let error = sh_with("exit 0", Duration::from_secs(60), &cancel).unwrap_err();
    assert_eq!(error.code(), "dispatch-cancelled", "it stays called off");
    let soon = Cancel::at(Some(Instant::now() + Duration::from_millis(200)));
    let error = sh_with("sleep 60", Duration::from_secs(60), &soon).unwrap_err();
    assert_eq!(error.code(), "dispatch-deadline-exceeded");
}

#[test]
fn a_program_that_cannot_be_run_is_an_answer_a_missing_directory_is_none() {
    let run_in = |program: &str, dir: &str| {
        let argv = [program.to_owned()];
        let second = Duration::from_secs(1);
        run(&argv, Path::new(dir), second, &Cancel::default())
    };
    for program in ["no-such-program-here", "/etc/passwd", "/", "", "a\0b"] {
        let finished = run_in(program, "/").unwrap();
        assert!(matches!(finished.ended, Ended::NotStarted(_)), "{program}");
        let start = format!("{program}: cannot be started: ");
        assert!(finished.detail().starts_with(&start), "{program}");
    }
    let error = run_in("true", "/no/such/place").unwrap_err();
    assert_eq!(error.code(), "machine-clause-unrunnable");
}

#[test]
fn it_runs_inside_another_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    assert!(runtime.block_on(async { sh("exit 0", 10_000).passed() }));
}
