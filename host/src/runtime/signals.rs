//! The signals of the process, in one place.
//!
//! INT, TERM and HUP ask ghyll to end, XCPU tells that it used up its time.
//! All four go the same way: nothing new is run, what is running is ended and
//! waited for, then the surface may put things right ([`before_leaving`]), then
//! the process exits, with 128 and the signal's number. What was asked or
//! begun is in the database, and recovery's at the next start.
//!
//! XFSZ, a file that may not grow any further, only has the write fail, with
//! an error that is told like any other. All are heard, not ignored, so that
//! commands inherit nothing of it.
//!
//! A program that only uses the library keeps its signals: nothing is heard
//! before [`hear`].

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::cancel::Cancel;

/// How long what is running may take to be gone.
const RUNS: Duration = Duration::from_secs(4);
/// How long the main thread may take to come to its end after that.
const MAIN: Duration = Duration::from_secs(1);
/// How long work in hand may keep a signal waiting.
const GRACE: Duration = Duration::from_secs(5);
/// How often that is looked at.
const POLL: Duration = Duration::from_millis(10);
/// The exit code of what is broken or refused.
const REFUSED: u8 = 3;

static LEAVING: LazyLock<watch::Sender<Option<Ending>>> = LazyLock::new(watch::Sender::default);
static RUNNING: LazyLock<watch::Sender<usize>> = LazyLock::new(watch::Sender::default);
static DONE: LazyLock<watch::Sender<bool>> = LazyLock::new(watch::Sender::default);
static INTERRUPTS: Mutex<Option<Cancel>> = Mutex::new(None);
/// How many other programs have the terminal.
static LENT: AtomicUsize = AtomicUsize::new(0);
static HOOK: Mutex<Option<Hook>> = Mutex::new(None);
static AT_EXIT: Mutex<Vec<Box<dyn FnOnce() + Send>>> = Mutex::new(Vec::new());

type Hook = Box<dyn FnOnce(Leaving) + Send>;

/// A signal on which the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The terminal is gone.
    Hangup,
    /// Ctrl-C.
    Interrupt,
    /// Somebody ends it.
    Terminate,
    /// The processor time it may use is over.
    CpuTime,
}

impl Ending {
    fn signal(self) -> Number {
        match self {
            Self::Hangup => Number::HUP,
            Self::Interrupt => Number::INT,
            Self::Terminate => Number::TERM,
            Self::CpuTime => Number::XCPU,
        }
    }

    /// The signal's name, as "SIGTERM".
    pub fn name(self) -> &'static str {
        name(self.signal().as_raw()).unwrap_or("a signal")
    }

    /// What the process exits with: 128 and the signal's number; 3 when its
    /// time was over, for nobody asked it to end.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::CpuTime => REFUSED,
            other => u8::try_from(other.signal().as_raw())
                .unwrap_or_default()
                .saturating_add(128),
        }
    }

    /// Ends the process, after what was given to [`before_exit`].
    pub fn exit(self) -> ! {
        let hooks = std::mem::take(&mut *AT_EXIT.lock().unwrap_or_else(PoisonError::into_inner));
        hooks.into_iter().for_each(|hook| hook());
        std::process::exit(i32::from(self.exit_code()))
    }
}

/// Which signals end the process in ghyll's own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Those of limits only: INT, TERM and HUP end the process as ever. For
    /// what runs no commands, and can be ended anywhere.
    Limits,
    /// All of them. HUP only if it was not ignored from the start, as `nohup`
    /// has it.
    All,
}

/// The process is on its way out, and every command is ended.
#[derive(Debug, Clone, Copy)]
pub struct Leaving {
    /// Why.
    pub ending: Ending,
    /// Whether a command was ended, whose caller is now told so.
    pub cut_short: bool,
}

impl Leaving {
    /// Waits a moment for the main thread to say what became of a command
    /// that was ended, and to come to its end; see [`finish`].
    pub fn wait_for_main(&self) {
        let deadline = Instant::now() + MAIN;
        while self.cut_short && !*DONE.borrow() && Instant::now() < deadline {
            std::thread::sleep(POLL);
        }
    }
}

/// Begins to hear. To be called once, by `main`.
///
/// # Errors
/// If there are no file handles or no thread for it; then signals end the
/// process as ever.
pub fn hear(heard: Heard) -> io::Result<()> {
    let handle = super::handle()?;
    let _inside = handle.enter();
    // Heard by nobody: the write that met the limit fails.
    drop(listen(Number::XFSZ)?);
    let cpu_time = listen(Number::XCPU)?;
    let all = heard == Heard::All;
    let asked = |number, when: bool| when.then(|| listen(number)).transpose();
    let hangup = asked(Number::HUP, all && !is_ignored(Number::HUP))?;
    let interrupt = asked(Number::INT, all)?;
    let terminate = asked(Number::TERM, all)?;
    handle.spawn(attend(Ears {
        hangup,
        interrupt,
        terminate,
        cpu_time: Some(cpu_time),
    }));
    Ok(())
}

/// What is done last before the process exits on a signal, on a thread of its
/// own; what was given before is forgotten. By default nothing but
/// [`Leaving::wait_for_main`].
pub fn before_leaving(hook: impl FnOnce(Leaving) + Send + 'static) {
    *HOOK.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(hook));
}

/// What is done as the process exits on a signal, for what its end would leave
/// behind because nothing is dropped.
pub fn before_exit(hook: impl FnOnce() + Send + 'static) {
    let mut hooks = AT_EXIT.lock().unwrap_or_else(PoisonError::into_inner);
    hooks.push(Box::new(hook));
}

/// The last thing `main` does: gives back `code`, unless the process is on its
/// way out on a signal, which then has the last word.
pub fn finish<T>(code: T) -> T {
    if LEAVING.borrow().is_some() {
        DONE.send_replace(true);
        std::thread::sleep(RUNS + GRACE + MAIN);
    }
    code
}

/// Has an interrupt call something off, instead of ending the process, until
/// this is dropped. A second one ends the process.
#[derive(Debug)]
pub struct InterruptCancels(());

impl InterruptCancels {
    /// Calls `cancel` off at the next interrupt.
    pub fn new(cancel: &Cancel) -> Self {
        *INTERRUPTS.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancel.clone());
        Self(())
    }
}

impl Drop for InterruptCancels {
    fn drop(&mut self) {
        *INTERRUPTS.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// While another program has the terminal, Ctrl-C is meant for that program:
/// it ends nothing here until this is dropped.
#[derive(Debug)]
pub struct TerminalLent(());

impl TerminalLent {
    /// From now on.
    pub fn begin() -> Self {
        LENT.fetch_add(1, Ordering::Relaxed);
        // Where interrupts are not heard they would end the process.
        if let Ok(handle) = super::handle() {
            let _inside = handle.enter();
            // Who cannot hear it is ended by it, as before.
            let _ = listen(Number::INT);
        }
        Self(())
    }
}

impl Drop for TerminalLent {
    fn drop(&mut self) {
        LENT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether a session is at work or waits for a line.
///
/// A signal ends the process where nothing is in hand: at a question. The
/// operating system then lets go of the lock, and what was asked is asked
/// again at the next start.
#[derive(Debug, Default)]
pub struct AtWork(Mutex<()>);

impl AtWork {
    /// Held by the session but while it waits for a line.
    pub fn hold(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nothing is in hand, but at most five seconds. While the
    /// guard lives nothing new is begun.
    pub fn wait(&self) -> Option<MutexGuard<'_, ()>> {
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            match self.0.try_lock() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(e)) => return Some(e.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::sleep(POLL),
            }
        }
        None
    }
}

/// Waits until the process is told to end.
pub(super) async fn leaving() {
    // The sender is never dropped.
    let _ = LEAVING.subscribe().wait_for(Option::is_some).await;
}

/// Something that has to be gone before the process ends.
pub(super) struct Running(());

impl Running {
    /// `None` once the process is on its way out.
    pub(super) fn begin() -> Option<Self> {
        // Counted first, so that whoever leaves sees it or is seen.
        RUNNING.send_modify(|count| *count += 1);
        let running = Self(());
        LEAVING.borrow().is_none().then_some(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// The name of a signal by its number, of those that end processes.
pub(super) fn name(number: i32) -> Option<&'static str> {
    const NAMES: [(Number, &str); 18] = [
        (Number::HUP, "SIGHUP"),
        (Number::INT, "SIGINT"),
        (Number::QUIT, "SIGQUIT"),
        (Number::ILL, "SIGILL"),
        (Number::TRAP, "SIGTRAP"),
        (Number::ABORT, "SIGABRT"),
        (Number::BUS, "SIGBUS"),
        (Number::FPE, "SIGFPE"),
        (Number::KILL, "SIGKILL"),
        (Number::USR1, "SIGUSR1"),
        (Number::SEGV, "SIGSEGV"),
        (Number::USR2, "SIGUSR2"),
        (Number::PIPE, "SIGPIPE"),
        (Number::ALARM, "SIGALRM"),
        (Number::TERM, "SIGTERM"),
        (Number::XCPU, "SIGXCPU"),
        (Number::XFSZ, "SIGXFSZ"),
        (Number::SYS, "SIGSYS"),
    ];
    NAMES
        .iter()
        .find(|(signal, _)| signal.as_raw() == number)
        .map(|(_, name)| *name)
}

struct Ears {
    hangup: Option<Signal>,
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    cpu_time: Option<Signal>,
}

async fn attend(mut ears: Ears) {
    let ending = loop {
        let ending = tokio::select! {
            () = next(&mut ears.hangup) => Ending::Hangup,
            () = next(&mut ears.interrupt) => Ending::Interrupt,
            () = next(&mut ears.terminate) => Ending::Terminate,
            () = next(&mut ears.cpu_time) => Ending::CpuTime,
        };
        if ending != Ending::Interrupt || !interrupts() {
            break ending;
        }
    };
    LEAVING.send_replace(Some(ending));
    let mut running = RUNNING.subscribe();
    let cut_short = *running.borrow_and_update() > 0;
    let _ = tokio::time::timeout(RUNS, running.wait_for(|count| *count == 0)).await;
    let leave = move || {
        let leaving = Leaving { ending, cut_short };
        let hook = HOOK.lock().unwrap_or_else(PoisonError::into_inner).take();
        match hook {
            Some(hook) => hook(leaving),
            None => leaving.wait_for_main(),
        }
        ending.exit()
    };
    if std::thread::Builder::new().spawn(leave).is_err() {
        ending.exit();
    }
}

/// Calls off what an interrupt is for now, if it was not before.
fn interrupts() -> bool {
    if LENT.load(Ordering::Relaxed) > 0 {
        return true;
    }
    let cancel = INTERRUPTS.lock().unwrap_or_else(PoisonError::into_inner);
    match cancel.as_ref() {
        Some(cancel) if !cancel.is_cancelled() => {
            cancel.cancel();
            true
        }
        _ => false,
    }
}

/// Waits for a signal; for ever if it is not heard.
async fn next(signal: &mut Option<Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    std::future::pending().await
}

fn listen(number: Number) -> io::Result<Signal> {
    signal(SignalKind::from_raw(number.as_raw()))
}

/// Whether the process was started with a signal ignored; where it cannot be
/// told, not.
fn is_ignored(number: Number) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (number.as_raw() - 1) & 1 == 1)
}
