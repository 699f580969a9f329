//! What happened to the tree since it was last looked at.
//!
//! Looking at every file of a large tree takes a second, and a process that
//! records one verdict after the other would do it for each. Where the kernel
//! tells of changes, only the files it names are looked at again. It is a
//! shortcut: whatever is not certain (another system, a disk that another
//! machine writes to, more changes than were kept) says so, and all is looked
//! at.

use std::collections::BTreeSet;
use std::path::Path;

#[cfg(target_os = "linux")]
pub use told::Watch;
#[cfg(not(target_os = "linux"))]
pub use untold::Watch;

/// Files below the tree's root.
type Files = BTreeSet<String>;

#[cfg(not(target_os = "linux"))]
mod untold {
    use super::{Files, Path};

    /// Nobody tells of changes here.
    #[derive(Debug)]
    pub struct Watch(std::convert::Infallible);

    impl Watch {
        /// Nothing.
        pub fn over(_: &Path) -> Option<Self> {
            None
        }

        /// Nothing.
        pub fn changed(&mut self) -> Option<Files> {
            match self.0 {}
        }
    }
}

#[cfg(target_os = "linux")]
mod told {
    use std::collections::HashMap;
    use std::fs;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use super::{Files, Path};

    /// Directories that are watched at the most.
    const DIRS_MAX: usize = 4096;
    /// Kinds of file system whose every change goes through this kernel.
    const OWN_DISKS: [u64; 8] = [
        0xef53,      // ext2, ext3, ext4
        0x5846_5342, // xfs
        0x9123_683e, // btrfs
        0x0102_1994, // tmpfs
        0xf2f5_2010, // f2fs
        0x2fc1_2fc1, // zfs
        0x794c_7630, // overlayfs
        0xca45_1a4e, // bcachefs
    ];

    /// Hears of every change below a directory.
    #[derive(Debug)]
    pub struct Watch {
        fd: OwnedFd,
        /// The directories, below the one that is watched, by their number.
        dirs: HashMap<i32, String>,
    }

    impl Watch {
        /// Watches a tree from now on; nothing where that is not possible.
        pub fn over(tree: &Path) -> Option<Self> {
            let kind = u64::try_from(rustix::fs::statfs(tree).ok()?.f_type).ok()?;
            if !OWN_DISKS.contains(&kind) {
                return None;
            }
            let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            let mut watch = Self {
                fd,
                dirs: HashMap::new(),
            };
            watch.add(tree, "")?;
            Some(watch)
        }

        /// Watches a directory before it is read: what is made meanwhile is
        /// found by one or the other.
        fn add(&mut self, dir: &Path, below: &str) -> Option<()> {
            let flags = WatchFlags::MODIFY
                | WatchFlags::ATTRIB
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR
                | WatchFlags::DONT_FOLLOW;
            let number = inotify::add_watch(&self.fd, dir, flags).ok()?;
            self.dirs.insert(number, below.to_owned());
            if self.dirs.len() > DIRS_MAX {
                return None;
            }
            for entry in fs::read_dir(dir).ok()? {
                let entry = entry.ok()?;
                if entry.file_type().ok()?.is_dir() {
                    let name = entry.file_name().into_string().ok()?;
                    self.add(&entry.path(), &format!("{below}{name}/"))?;
                }
            }
            Some(())
        }

        /// The files that may have changed since the last call; nothing if it
        /// cannot be told, and then nothing more can be.
        pub fn changed(&mut self) -> Option<Files> {
            let mut files = Files::new();
            let mut room = [MaybeUninit::uninit(); 4096];
            let mut events = inotify::Reader::new(&self.fd, &mut room);
            loop {
                let event = match events.next() {
                    Ok(event) => event,
                    Err(Errno::WOULDBLOCK) => return Some(files),
                    Err(Errno::INTR) => continue,
                    Err(_) => return None,
                };
                let of_a_dir = ReadFlags::ISDIR
                    | ReadFlags::DELETE_SELF
                    | ReadFlags::MOVE_SELF
                    | ReadFlags::IGNORED
                    | ReadFlags::QUEUE_OVERFLOW
                    | ReadFlags::UNMOUNT;
                if event.events().intersects(of_a_dir) {
                    return None;
                }
                let dir = self.dirs.get(&event.wd())?;
                let name = event.file_name()?.to_str().ok()?;
                files.insert(format!("{dir}{name}"));
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;

    fn told(watch: &mut Watch) -> Option<Vec<String>> {
        Some(watch.changed()?.into_iter().collect())
    }

    #[test]
    fn every_change_of_a_file_is_told_and_of_a_directory_that_nothing_is_sure() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/f"), "1\n").unwrap();
        let mut watch = Watch::over(root).unwrap();
        assert_eq!(told(&mut watch), Some(vec![]));

        fs::write(root.join("a/b/f"), "1\n2\n").unwrap();
        assert_eq!(told(&mut watch), Some(vec!["a/b/f".to_owned()]));
        assert_eq!(told(&mut watch), Some(vec![]));
        fs::rename(root.join("a/b/f"), root.join("a/g")).unwrap();
        let both = vec!["a/b/f".to_owned(), "a/g".to_owned()];
        assert_eq!(told(&mut watch), Some(both));
        fs::remove_file(root.join("a/g")).unwrap();
        assert_eq!(told(&mut watch), Some(vec!["a/g".to_owned()]));

        fs::create_dir(root.join("a/c")).unwrap();
        assert_eq!(told(&mut watch), None);
        let mut watch = Watch::over(root).unwrap();
        fs::rename(root.join("a"), root.join("z")).unwrap();
        assert_eq!(told(&mut watch), None);
    }

    #[test]
    fn more_changes_than_the_kernel_keeps_are_not_taken_for_none() {
        let kept: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events")
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut watch = Watch::over(dir.path()).unwrap();
        for n in 0..=kept {
            // Two in a row that are the same are kept once.
            fs::write(dir.path().join(["f", "g"][n % 2]), "1").unwrap();
        }
        assert_eq!(told(&mut watch), None);
    }
}
