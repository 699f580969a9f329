//! The end of what comes out of a pipe.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;

/// How much of what a command says is kept, in bytes; the end of it.
const KEPT: usize = 2048;

/// Reads a pipe to its end and keeps the last of it, to be had at any time.
pub struct Tail {
    kept: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
}

impl Tail {
    /// Begins to read; nothing is kept of no pipe.
    pub fn of(pipe: Option<impl AsyncRead + Send + Unpin + 'static>) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&kept);
        let reading = tokio::spawn(async move {
            let Some(mut pipe) = pipe else { return };
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
                let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(buffer.get(..read).unwrap_or_default());
                let excess = kept.len().saturating_sub(KEPT);
                kept.drain(..excess);
            }
        });
        Self { kept, reading }
    }

    /// Waits until the pipe is at its end.
    pub async fn end(&mut self) {
        if !self.reading.is_finished() {
            let _ = (&mut self.reading).await;
        }
    }

    /// What is kept, without the rest of a character that was cut.
    pub fn text(&self) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let cut = if kept.len() < KEPT {
            0
        } else {
            let continues = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
            kept.iter().take(3).take_while(continues).count()
        };
        String::from_utf8_lossy(kept.get(cut..).unwrap_or_default()).into_owned()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.reading.abort();
    }
}
