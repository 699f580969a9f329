//! Real limits: a process that may not write files beyond a size, and a disk
//! that is full.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use ghyll::policy::Policy;

use super::fixture;

/// What came of it.
#[derive(Debug, Default, Clone, Copy)]
pub struct Limited {
    /// Records acknowledged, every one found.
    pub acknowledged: u64,
    /// Records (or dispatches) refused.
    pub refused: u64,
}

/// Records with `RLIMIT_FSIZE` set to `blocks` of 512 bytes until that is
/// refused often enough, then without it.
///
/// # Panics
/// If anything is not as it has to be.
pub fn file_size(program: &Path, blocks: u64) -> Limited {
    let scratch = fixture::scratch();
    // Ignored, the signal turns into short writes and errors.
    let shell = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" record \"$1\" 3");
    recorded_under(&shell, program, scratch.path())
}

/// Records on a file system of `kib` KiB until it is full. `None`, with the
/// reason on standard error, where none can be mounted.
///
/// # Panics
/// If anything is not as it has to be.
pub fn full_disk(program: &Path, kib: u64) -> Option<Limited> {
    let scratch = fixture::scratch();
    let at = scratch.path().join("small");
    std::fs::create_dir(&at).unwrap();
    let size = format!("size={kib}k");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
        .arg(&at)
        .stderr(Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("no full disk: a tmpfs cannot be mounted here");
        return None;
    }
    let _unmount = Unmount(&at);
    // Something to be taken away, so that there is room again.
    let ballast = at.join("ballast");
    std::fs::write(&ballast, vec![0; 64 << 10]).unwrap();
    let dir = at.join("project");
    std::fs::create_dir(&dir).unwrap();
    let (acknowledged, refused) = run("exec \"$0\" record \"$1\" 3", program, &dir, || {
        std::fs::remove_file(&ballast).unwrap();
    });
    Some(Limited {
        acknowledged,
        refused,
    })
}

struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

fn recorded_under(shell: &str, program: &Path, dir: &Path) -> Limited {
    let (acknowledged, refused) = run(shell, program, dir, || {});
    Limited {
        acknowledged,
        refused,
    }
}

/// Runs the recording child in `shell` until it gives up, makes room, and
/// holds what it acknowledged against what is there.
fn run(shell: &str, program: &Path, dir: &Path, make_room: impl FnOnce()) -> (u64, u64) {
    let policy = Arc::new(Policy::load().unwrap());
    fixture::make(dir);
    // The tables are there before the limit is.
    drop(fixture::open(dir, &policy).unwrap());
    let output = Command::new("sh")
        .args(["-c", shell])
        .arg(program)
        .arg(dir)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let acknowledged: Vec<&str> = said
        .lines()
        .filter_map(|l| l.strip_prefix("ack "))
        .collect();
    let refused = said.lines().filter(|l| l.starts_with("refused ")).count() as u64;
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(refused > 0 && !acknowledged.is_empty(), "{said}{err}");

    make_room();
    let lines = fixture::tree_lines(dir);
    for line in &acknowledged {
        assert_eq!(lines.get(&format!("{line}\n")), Some(&1), "{line}");
    }
    drop(fixture::open(dir, &policy).unwrap());
    let report = fixture::assert_clean(dir, &policy);
    // A record may be durable whose effects could not be kept; none is lost.
    assert!(report.tree.records >= acknowledged.len() as u64);
    (acknowledged.len() as u64, refused)
}
