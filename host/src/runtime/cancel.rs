//! How a caller calls off what it waits for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Calls off what it was handed to: when somebody says so, or at a point in
/// time. Clones are one and the same; once called off it stays so.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    said: Arc<watch::Sender<bool>>,
    deadline: Option<Instant>,
}

/// Why something was called off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Somebody said so.
    Said,
    /// The caller's time was over.
    Deadline,
    /// The process is about to end on a signal; see [`super::signals`].
    Leaving,
}

impl Cancel {
    /// One that is called off at `deadline` at the latest; never by time if
    /// there is none.
    pub fn at(deadline: Option<Instant>) -> Self {
        Self {
            deadline,
            ..Self::default()
        }
    }

    /// Calls off, now.
    pub fn cancel(&self) {
        self.said.send_replace(true);
    }

    /// Whether it is called off.
    pub fn is_cancelled(&self) -> bool {
        *self.said.borrow() || self.deadline.is_some_and(|end| end <= Instant::now())
    }

    /// Waits for `time`, or until it is called off, whichever comes first.
    ///
    /// # Errors
    /// By whom, if it was called off.
    pub fn sleep(&self, time: Duration) -> Result<(), Why> {
        /// How late a call-off may be noticed.
        const STEP: Duration = Duration::from_millis(20);
        let end = Instant::now() + time;
        loop {
            if *self.said.borrow() {
                return Err(Why::Said);
            }
            if self.deadline.is_some_and(|end| end <= Instant::now()) {
                return Err(Why::Deadline);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(STEP));
        }
    }

    /// Waits until it is called off.
    pub async fn cancelled(&self) -> Why {
        let mut said = self.said.subscribe();
        let at_deadline = async {
            match self.deadline {
                Some(end) => tokio::time::sleep_until(end.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            // The sender lives as long as `self`.
            _ = said.wait_for(|said| *said) => Why::Said,
            () = at_deadline => Why::Deadline,
        }
    }
}
