//! The processes that are alive, and what befalls them.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::survive::Dice;

/// How long anything may take before it counts as stuck.
pub const STUCK: Duration = Duration::from_secs(180);
/// How often it is looked whether a process has ended.
const LOOK: Duration = Duration::from_millis(2);
/// As long as a lock is waited for, and a little more.
const LONG: u64 = 5500;

/// Who is alive, and who was stopped or killed.
#[derive(Default)]
pub struct Crowd {
    live: Mutex<BTreeMap<u32, Instant>>,
    stops: Mutex<Vec<Stop>>,
    killed: Mutex<Vec<(u32, Instant)>>,
    over: AtomicBool,
}

/// A while in which a process was stopped.
#[derive(Debug, Clone, Copy)]
struct Stop {
    from: Instant,
    until: Option<Instant>,
}

/// How a command ended.
#[derive(Debug)]
pub struct Done {
    /// Its exit code; `None` if it was killed.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub out: String,
    /// What it wrote to standard error.
    pub err: String,
    began: Instant,
    ended: Instant,
}

impl Done {
    /// How long it took.
    pub fn took(&self) -> Duration {
        self.ended - self.began
    }

    /// The codes in which it was refused.
    pub fn codes(&self) -> Vec<String> {
        codes(&self.err)
    }
}

/// The codes that are named in `error[…]`.
pub fn codes(text: &str) -> Vec<String> {
    text.split("error[")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once(']')?.0.to_owned()))
        .collect()
}

impl Crowd {
    /// Runs a command of the program to its end, whatever that is.
    pub fn run(&self, program: &Path, dir: &Path, args: &[&str]) -> Done {
        let began = Instant::now();
        let mut child = Command::new(program)
            .args(args)
            .current_dir(dir)
            .env_remove("GHYLL_OP_ID")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        self.born(pid);
        let out = read_all(child.stdout.take().unwrap());
        let err = read_all(child.stderr.take().unwrap());
        let status = self.reap(pid, || child.try_wait().unwrap());
        Done {
            code: status.code(),
            out: out.join().unwrap(),
            err: err.join().unwrap(),
            began,
            ended: Instant::now(),
        }
    }

    /// A process lives from now on, and may be stopped or killed.
    pub fn born(&self, pid: u32) {
        lock(&self.live).insert(pid, Instant::now());
    }

    /// Waits until a process has ended. It is asked for its end only while
    /// nobody signals: until then its number is nobody else's.
    pub fn reap<S>(&self, pid: u32, mut ended: impl FnMut() -> Option<S>) -> S {
        let began = Instant::now();
        loop {
            {
                let mut live = lock(&self.live);
                if let Some(status) = ended() {
                    live.remove(&pid);
                    return status;
                }
            }
            assert!(began.elapsed() < STUCK, "process {pid} is stuck");
            std::thread::sleep(LOOK);
        }
    }

    /// Whether some process was stopped while `done` ran, or shortly before.
    pub fn stopped_beside(&self, done: &Done) -> bool {
        self.stopped_between(done.began, done.ended)
    }

    /// Whether some process was stopped between these two times.
    pub fn stopped_between(&self, began: Instant, ended: Instant) -> bool {
        let stops = lock(&self.stops);
        stops
            .iter()
            .any(|stop| stop.from <= ended && stop.until.is_none_or(|until| until >= began))
    }

    /// Stops and kills whom the dice fall for, until it is over.
    pub fn trouble(&self, kills: bool, stops: bool, mut dice: Dice) {
        while !self.over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20 + dice.below(600)));
            let to_kill = dice.below(2) == 0;
            let nth = dice.below(1000);
            match to_kill {
                true if kills => self.kill(nth),
                false if stops => {
                    let long = dice.below(12) == 0;
                    let millis = if long { LONG } else { 20 } + dice.below(1000);
                    self.stop(nth, Duration::from_millis(millis));
                }
                _ => {}
            }
        }
    }

    /// No more trouble.
    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// How many were killed, stopped, and stopped for long.
    pub fn counts(&self) -> (u64, u64, u64) {
        let stops = lock(&self.stops);
        let long = |stop: &&Stop| {
            let until = stop.until.unwrap_or(stop.from);
            until - stop.from >= Duration::from_millis(LONG)
        };
        (
            lock(&self.killed).len() as u64,
            stops.len() as u64,
            stops.iter().filter(long).count() as u64,
        )
    }

    /// Whether a process that could still be at something now was killed.
    pub fn any_killed(&self) -> bool {
        !lock(&self.killed).is_empty()
    }

    fn kill(&self, nth: u64) {
        let live = lock(&self.live);
        if let Some(pid) = pick(&live, nth) {
            lock(&self.killed).push((pid, Instant::now()));
            signal(pid, Signal::KILL);
        }
    }

    fn stop(&self, nth: u64, time: Duration) {
        let pid = {
            let live = lock(&self.live);
            let Some(pid) = pick(&live, nth) else { return };
            lock(&self.stops).push(Stop {
                from: Instant::now(),
                until: None,
            });
            signal(pid, Signal::STOP);
            pid
        };
        let until = Instant::now() + time;
        while Instant::now() < until && !self.over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let live = lock(&self.live);
        if live.contains_key(&pid) {
            signal(pid, Signal::CONT);
        }
        let mut stops = lock(&self.stops);
        if let Some(stop) = stops.last_mut() {
            // Who waited for it may be refused a moment later.
            stop.until = Some(Instant::now());
        }
    }
}

fn pick(live: &BTreeMap<u32, Instant>, nth: u64) -> Option<u32> {
    let nth = nth.checked_rem(live.len() as u64)?;
    live.keys().nth(nth as usize).copied()
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    // It may have ended, and wait to be asked for its end.
    let _ = kill_process(pid, signal);
}

/// All that arrives, as text.
pub fn read_all(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Has `hear` hear of whatever arrives.
pub fn read_chunks(
    mut from: impl Read + Send + 'static,
    mut hear: impl FnMut(&[u8]) + Send + 'static,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            hear(&buffer[..n]);
        }
    })
}

/// What it guards, also after somebody panicked with it.
pub fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child whose end is asked for.
pub fn status_of(child: &mut Child) -> Option<ExitStatus> {
    child.try_wait().unwrap()
}
