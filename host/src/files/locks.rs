//! Whether there are locks at all: some network file systems, and some made of
//! programs, have none.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// Whether the file system, not the file, is why there is no lock.
pub fn lacks_locks(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let lacking = [Errno::NOLCK, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOSYS];
        if let Some(code) = error.raw_os_error() {
            return lacking.iter().any(|e| e.raw_os_error() == code);
        }
    }
    error.kind() == io::ErrorKind::Unsupported
}

/// Whether the file system of a file that is there lacks locks.
pub fn is_without_locks(path: &Path) -> bool {
    let tried = File::open(path).map(|file| file.try_lock_shared());
    matches!(tried, Ok(Err(TryLockError::Error(e))) if lacks_locks(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_system_without_locks_is_told_from_a_file_that_cannot_be_locked() {
        use rustix::io::Errno;
        for (errno, lacks) in [
            (Errno::NOLCK, true),
            (Errno::OPNOTSUPP, true),
            (Errno::NOSYS, true),
            (Errno::IO, false),
            (Errno::ACCESS, false),
        ] {
            assert_eq!(lacks_locks(&errno.into()), lacks, "{errno}");
        }
    }

    #[test]
    fn what_is_not_there_or_can_be_locked_lacks_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_without_locks(dir.path()));
        assert!(!is_without_locks(&dir.path().join("none")));
    }
}
