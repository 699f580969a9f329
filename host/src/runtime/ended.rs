//! How commands end.

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// Its time was up.
    TimedOut,
    /// The program is not there or cannot be run; says why.
    NotStarted(String),
}
