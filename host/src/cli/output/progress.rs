//! How far a long reading is.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Shown on a terminal once it takes longer than a second, and nowhere else.
pub struct Progress {
    started: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    const PATIENCE: Duration = Duration::from_secs(1);

    /// A reading that begins now.
    pub(super) fn begin() -> Self {
        Self {
            started: Instant::now(),
            bar: None,
        }
    }

    /// So many bytes are read, of so many.
    pub fn show(&mut self, done: u64, total: u64) {
        if self.started.elapsed() < Self::PATIENCE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(total);
            if let Ok(style) = ProgressStyle::with_template("reading {percent} % of {total_bytes}")
            {
                bar.set_style(style);
            }
            bar
        });
        bar.set_length(total);
        bar.set_position(done.min(total));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
