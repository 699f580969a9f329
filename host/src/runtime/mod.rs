//! The one owner of tokio, and of what it is for: commands and all they
//! start, signals, and whatever else has to wait for several things at once.
//!
//! One thread drives one runtime for the whole process. Who needs something of
//! it hands over a future and waits, from wherever it is called: from plain
//! code, from a script's thread, or inside somebody else's runtime, where a
//! runtime of one's own would panic. Nothing here panics where threads or
//! file handles are short; that is an error, and the caller's to name.

pub mod cancel;
pub mod command;
mod ended;
mod group;
pub mod guard;
pub mod signals;
mod tail;

use std::future::Future;
use std::io;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::{self, ThreadId};

use cancel::{Cancel, Why};
use tokio::runtime::{Builder, Handle};

/// What is in ghyll's environment and in no command's: the key of a model.
pub const WITHHELD_ENV: &str = "GHYLL_MODEL_API_KEY";

static RUNTIME: Mutex<Option<(Handle, ThreadId)>> = Mutex::new(None);

/// Where futures are run; started when it is first asked for.
///
/// # Errors
/// If there are no file handles or no thread for it. It is tried anew the next
/// time.
pub fn handle() -> io::Result<Handle> {
    running().map(|(handle, _)| handle)
}

/// Runs a future to its end while the calling thread waits.
///
/// An async caller stays correct but blocks its own worker meanwhile, and may
/// want a thread for it.
///
/// # Errors
/// As [`handle`]; [`io::ErrorKind::Deadlock`] from within a future that runs
/// here itself; and if the future panicked.
pub fn block_on<F>(future: F) -> io::Result<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (handle, driver) = running()?;
    if thread::current().id() == driver {
        return Err(io::ErrorKind::Deadlock.into());
    }
    let (done, wait) = mpsc::sync_channel(1);
    handle.spawn(async move {
        // Fails only if nobody waits any more.
        let _ = done.send(future.await);
    });
    wait.recv()
        .map_err(|_| io::Error::other("what was run in the background panicked"))
}

/// As [`block_on`], of a future that tells of things on its way: each is handed
/// to `hear` by the calling thread, in order, before this returns.
///
/// # Errors
/// As [`block_on`].
pub fn block_on_hearing<T, F>(
    future: impl FnOnce(mpsc::Sender<T>) -> F,
    mut hear: impl FnMut(T),
) -> io::Result<F::Output>
where
    T: Send + 'static,
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (handle, driver) = running()?;
    if thread::current().id() == driver {
        return Err(io::ErrorKind::Deadlock.into());
    }
    let (tell, heard) = mpsc::channel();
    let future = future(tell);
    let (done, wait) = mpsc::sync_channel(1);
    handle.spawn(async move {
        // The sender goes with the future, so hearing ends with it.
        let _ = done.send(future.await);
    });
    heard.into_iter().for_each(&mut hear);
    wait.recv()
        .map_err(|_| io::Error::other("what was run in the background panicked"))
}

/// Runs a future until it is done, called off, or the process is to end, which
/// then waits for this to be over.
///
/// # Errors
/// By whom it was called off.
pub async fn unless_cancelled<F: Future>(future: F, cancel: &Cancel) -> Result<F::Output, Why> {
    let Some(_running) = signals::Running::begin() else {
        return Err(Why::Leaving);
    };
    tokio::select! {
        biased;
        why = cancel.cancelled() => Err(why),
        () = signals::leaving() => Err(Why::Leaving),
        done = future => Ok(done),
    }
}

fn running() -> io::Result<(Handle, ThreadId)> {
    let mut slot = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = slot.as_ref() {
        return Ok(running.clone());
    }
    has_handles()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let thread = thread::Builder::new()
        .name("ghyll-runtime".to_owned())
        .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
    Ok(slot.insert((handle, thread.thread().id())).clone())
}

/// Whether there are file handles for a runtime: tokio panics where it finds
/// none for its own use of signals.
fn has_handles() -> io::Result<()> {
    const PAIRS: usize = 6;
    (0..PAIRS)
        .map(|_| std::os::unix::net::UnixStream::pair())
        .collect::<io::Result<Vec<_>>>()
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_future_is_waited_for_also_inside_another_runtime() {
        assert_eq!(block_on(async { 1 }).unwrap(), 1);
        let other = Builder::new_current_thread().build().unwrap();
        assert_eq!(other.block_on(async { block_on(async { 2 }).unwrap() }), 2);
    }

    #[test]
    fn what_is_told_on_the_way_is_heard_in_order_before_the_end() {
        let mut heard = Vec::new();
        let told = |tell: mpsc::Sender<u32>| async move {
            for n in 0..3 {
                tell.send(n).unwrap();
                tokio::task::yield_now().await;
            }
            "done"
        };
        let done = block_on_hearing(told, |n| heard.push(n)).unwrap();
        assert_eq!((done, heard), ("done", vec![0, 1, 2]));
    }

    #[test]
    fn what_would_wait_for_itself_or_panics_is_an_error() {
        let inner = block_on(async { block_on(async {}).unwrap_err().kind() });
        assert_eq!(inner.unwrap(), io::ErrorKind::Deadlock);
        let panicked = block_on(async { assert!(std::hint::black_box(false)) });
        assert_eq!(panicked.unwrap_err().kind(), io::ErrorKind::Other);
        assert_eq!(block_on(async { 3 }).unwrap(), 3, "and it goes on");
    }
}
