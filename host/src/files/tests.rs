//! What the files below `.ghyll` promise whatever stands there.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::append::AppendFile;
use super::bounded::{ReadError, open_ordinary, read_below, read_bounded, read_text};
use super::disk::{CapDisk, Disk, DiskFile, Entry, Kind, Meta};
use super::replace::{is_temporary, replace, sweep};
use super::*;

fn scratch() -> (tempfile::TempDir, CapDisk) {
    let dir = tempfile::tempdir().unwrap();
    let root = Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap();
    let disk = CapDisk::new(&root).unwrap();
    (dir, disk)
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// What `work` comes to; nothing here may wait for anybody.
pub(crate) fn promptly<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    wait.recv_timeout(Duration::from_secs(20))
        .expect("it hangs")
}

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path)
        .unwrap()
        .permissions()
        .mode()
        & 0o7777
}

#[test]
fn no_link_is_followed_at_any_level() {
    let (dir, disk) = scratch();
    let outside = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(outside.path().join("b")).unwrap();
    std::fs::write(outside.path().join("b/f"), "secret\n").unwrap();
    std::fs::create_dir(dir.path().join("real")).unwrap();
    symlink(outside.path(), dir.path().join("a")).unwrap();
    symlink(outside.path().join("b"), dir.path().join("real/b")).unwrap();
    symlink(outside.path().join("b/f"), dir.path().join("real/f")).unwrap();
    for path in ["a/b/f", "real/b/f", "real/f"] {
        assert!(disk.open_read(path).is_err(), "{path}");
        assert!(disk.open_append(path).is_err(), "{path}");
        assert!(disk.create_append(path).is_err(), "{path}");
        assert!(read_below(&disk, path, 99).is_err(), "{path}");
    }
    for path in ["a/b", "real/b", "a"] {
        assert!(disk.list(path).is_err(), "{path}");
        assert!(disk.list_meta(path).is_err(), "{path}");
        assert!(disk.is_empty(path).is_err(), "{path}");
        assert!(disk.sync_dir(path).is_err(), "{path}");
        assert!(disk.create_dir(path).is_err(), "{path}");
    }
    assert!(disk.create_dir("a/new").is_err());
    assert!(disk.create_new("a/new", "real/f").is_err());
    assert!(disk.create_new("real/new", "a/b/f").is_err());
    assert!(disk.rename("real/f", "a/g").is_err());
    assert!(disk.remove_file("a/b/f").is_err());
    assert!(disk.remove_dir_all("a/b").is_err());
    for outwards in ["../x", "/etc/passwd", "real/../../x"] {
        assert!(disk.open_read(outwards).is_err(), "{outwards}");
        assert!(disk.create_append(outwards).is_err(), "{outwards}");
    }
    assert_eq!(disk.meta("real/f").unwrap().unwrap().kind, Kind::Symlink);
    let left = std::fs::read_to_string(outside.path().join("b/f")).unwrap();
    assert_eq!(left, "secret\n");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn what_is_looked_at_in_bulk_is_what_is_looked_at_one_by_one() {
    let (dir, disk) = scratch();
    std::fs::create_dir_all(dir.path().join("d/sub")).unwrap();
    std::fs::write(dir.path().join("d/file"), "12345").unwrap();
    symlink("nowhere", dir.path().join("d/link")).unwrap();
    fifo(&dir.path().join("d/pipe"));
    let bulk = disk.list_meta("d").unwrap();
    assert_eq!(bulk.len(), 4);
    for (entry, meta) in &bulk {
        let alone = disk.meta(&format!("d/{}", entry.name)).unwrap().unwrap();
        assert_eq!(*meta.as_ref().unwrap(), alone, "{}", entry.name);
        assert_eq!(entry.kind, alone.kind, "{}", entry.name);
    }
    let listed: Vec<Entry> = bulk.into_iter().map(|(entry, _)| entry).collect();
    assert_eq!(disk.list("d").unwrap(), listed);
    assert!(!disk.is_empty("d").unwrap());
    assert!(disk.is_empty("d/sub").unwrap());
    disk.sync_all().unwrap();
}

#[test]
fn a_directory_replaced_underneath_is_noticed_and_nothing_goes_into_the_old_one() {
    let (dir, disk) = scratch();
    let mut file = AppendFile::open(&disk, "a/b/f", 0).unwrap();
    file.append(&disk, b"one\n").unwrap();
    std::fs::rename(dir.path().join("a"), dir.path().join("old")).unwrap();
    let error = file.append(&disk, b"two\n").unwrap_err();
    assert!(error.to_string().contains("removed"), "{error}");
    std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
    std::fs::write(dir.path().join("a/b/f"), "one\n").unwrap();
    let error = file.append(&disk, b"two\n").unwrap_err();
    assert!(error.to_string().contains("replaced"), "{error}");
    assert_eq!(std::fs::read(dir.path().join("old/b/f")).unwrap(), b"one\n");
    // Opened anew it is the one with the name.
    let mut file = AppendFile::open(&disk, "a/b/f", 4).unwrap();
    file.append(&disk, b"two\n").unwrap();
    assert_eq!(
        std::fs::read(dir.path().join("a/b/f")).unwrap(),
        b"one\ntwo\n"
    );
}

#[test]
fn nothing_waits_at_a_pipe() {
    let (dir, disk) = scratch();
    let at = dir.path().join("pipe");
    fifo(&at);
    promptly(move || {
        assert!(disk.open_read("pipe").is_err());
        assert!(disk.open_append("pipe").is_err());
        assert!(disk.create_append("pipe").is_err());
        assert!(AppendFile::open(&disk, "pipe", 0).is_err());
        assert!(AppendFile::open(&disk, "pipe/f", 0).is_err());
        assert!(disk.list("pipe").is_err());
        let error = read_below(&disk, "pipe", 9).unwrap_err();
        assert_eq!(error.code(), "file-not-ordinary");
        assert_eq!(
            read_bounded(&at, 9).unwrap_err().code(),
            "file-not-ordinary"
        );
        assert_eq!(open_ordinary(&at).unwrap_err().code(), "file-not-ordinary");
        replace(&disk, "pipe", b"x").unwrap();
        assert_eq!(std::fs::read(&at).unwrap(), b"x");
    });
    let (_dir, disk) = scratch();
    let socket = _dir.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(disk.open_read("socket").is_err());
    assert_eq!(
        read_bounded(&socket, 9).unwrap_err().code(),
        "file-not-ordinary"
    );
}

#[test]
fn a_file_is_read_whole_or_not_at_all() {
    let (dir, disk) = scratch();
    let at = dir.path().join("f");
    std::fs::write(&at, "12345").unwrap();
    assert_eq!(read_bounded(&at, 5).unwrap(), b"12345");
    assert_eq!(read_below(&disk, "f", 5).unwrap().unwrap(), b"12345");
    for error in [
        read_bounded(&at, 4).unwrap_err(),
        read_below(&disk, "f", 4).unwrap_err(),
    ] {
        assert_eq!(error.code(), "file-too-long");
        assert!(error.to_string().contains("4 bytes"), "{error}");
    }
    assert!(matches!(read_below(&disk, "none", 4), Ok(None)));
    assert!(
        read_bounded(&dir.path().join("none"), 4)
            .unwrap_err()
            .is_absent()
    );
    for special in ["/dev/zero", "/dev/null", "/"] {
        let error = promptly(move || read_text(Path::new(special), 9)).unwrap_err();
        assert_eq!(error.code(), "file-not-ordinary", "{special}");
    }
    // One that says it is empty and is not.
    assert!(
        !read_bounded(Path::new("/proc/self/status"), 1 << 20)
            .unwrap()
            .is_empty()
    );
    let error = read_bounded(Path::new("/proc/self/status"), 9).unwrap_err();
    assert_eq!(error.code(), "file-too-long");
    std::fs::write(&at, b"one\ntwo\xff\n").unwrap();
    assert!(matches!(read_text(&at, 99), Err(ReadError::NotText(2))));
    std::fs::remove_file(&at).unwrap();
    std::fs::create_dir(&at).unwrap();
    assert_eq!(
        read_below(&disk, "f", 9).unwrap_err().code(),
        "file-not-ordinary"
    );
    // As large as it says, and nothing of it there.
    std::fs::File::create(dir.path().join("huge"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    assert!(read_bounded(&dir.path().join("huge"), 1 << 20).is_err());
}

/// What was made durable or put somewhere, in order.
struct Watched {
    disk: CapDisk,
    calls: Mutex<Vec<String>>,
}

impl Watched {
    fn note(&self, what: &str, path: &str) {
        self.calls.lock().unwrap().push(format!("{what} {path}"));
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }
}

impl Disk for Watched {
    fn meta(&self, path: &str) -> io::Result<Option<Meta>> {
        self.disk.meta(path)
    }
    fn list(&self, dir: &str) -> io::Result<Vec<Entry>> {
        self.disk.list(dir)
    }
    fn list_meta(&self, dir: &str) -> io::Result<Vec<(Entry, io::Result<Meta>)>> {
        self.disk.list_meta(dir)
    }
    fn is_empty(&self, dir: &str) -> io::Result<bool> {
        self.disk.is_empty(dir)
    }
    fn create_dir(&self, dir: &str) -> io::Result<()> {
        self.note("make", dir);
        self.disk.create_dir(dir)
    }
    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        self.note("sync", dir);
        self.disk.sync_dir(dir)
    }
    fn sync_all(&self) -> io::Result<()> {
        self.disk.sync_all()
    }
    fn create_new(&self, path: &str, like: &str) -> io::Result<Box<dyn DiskFile>> {
        self.disk.create_new(path, like)
    }
    fn create_append(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        self.note("make", path);
        self.disk.create_append(path)
    }
    fn open_append(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        self.disk.open_append(path)
    }
    fn open_read(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        self.disk.open_read(path)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove_file(&self, path: &str) -> io::Result<()> {
        self.disk.remove_file(path)
    }
    fn remove_dir_all(&self, dir: &str) -> io::Result<()> {
        self.disk.remove_dir_all(dir)
    }
}

#[test]
fn only_what_is_new_on_the_way_is_made_durable_and_before_it_is_used() {
    let (dir, disk) = scratch();
    let disk = Watched {
        disk,
        calls: Mutex::default(),
    };
    let write = |path: &str| {
        let mut file = AppendFile::open(&disk, path, 0).unwrap();
        file.append(&disk, b"line\n").unwrap();
        file.append(&disk, b"line\n").unwrap();
        disk.calls()
    };
    assert_eq!(
        write("a/b/f"),
        [
            "make a",
            "sync ",
            "make a/b",
            "sync a",
            "make a/b/f",
            "sync a/b"
        ]
    );
    assert_eq!(write("a/b/g"), ["make a/b/g", "sync a/b"]);
    assert_eq!(
        write("a/c/f"),
        ["make a/c", "sync a", "make a/c/f", "sync a/c"]
    );
    assert_eq!(write("f"), ["make f", "sync "]);
    // Directories that a process made and was killed before it could go on.
    std::fs::create_dir(dir.path().join("a/b/left")).unwrap();
    assert_eq!(
        write("a/b/left/f"),
        ["sync a/b", "make a/b/left/f", "sync a/b/left"]
    );
    std::fs::create_dir(dir.path().join("left")).unwrap();
    assert_eq!(
        write("left/x/f"),
        [
            "sync ",
            "make left/x",
            "sync left",
            "make left/x/f",
            "sync left/x"
        ]
    );
}

#[test]
fn one_file_takes_the_place_of_another_at_once_and_as_it_was_permitted() {
    let (dir, disk) = scratch();
    let at = dir.path().join("d/f");
    std::fs::create_dir(dir.path().join("d")).unwrap();
    replace(&disk, "d/f", b"one").unwrap();
    for wanted in [0o600, 0o640, 0o664, 0o755, 0o400] {
        std::fs::set_permissions(&at, PermissionsExt::from_mode(wanted)).unwrap();
        replace(&disk, "d/f", format!("{wanted}").as_bytes()).unwrap();
        assert_eq!(mode(&at), wanted);
        assert_eq!(std::fs::read(&at).unwrap(), format!("{wanted}").as_bytes());
    }
    std::fs::set_permissions(&at, PermissionsExt::from_mode(0o4755)).unwrap();
    replace(&disk, "d/f", b"x").unwrap();
    assert_eq!(mode(&at), 0o755, "no set-user-id");
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&at, None, Some(4242)).unwrap();
        replace(&disk, "d/f", b"y").unwrap();
        assert_eq!(std::fs::metadata(&at).unwrap().gid(), 4242);
        // A directory that hands its group on, as for projects of several.
        let shared = dir.path().join("d");
        std::os::unix::fs::chown(&shared, None, Some(4343)).unwrap();
        std::fs::set_permissions(&shared, PermissionsExt::from_mode(0o2775)).unwrap();
        replace(&disk, "d/new", b"z").unwrap();
        AppendFile::open(&disk, "d/sub/lines", 0).unwrap();
        for path in ["d/new", "d/sub", "d/sub/lines"] {
            let meta = std::fs::metadata(dir.path().join(path)).unwrap();
            assert_eq!(meta.gid(), 4343, "{path}");
        }
    }
    // What cannot be done leaves what was there and nothing else.
    std::fs::create_dir_all(dir.path().join("e/full/x")).unwrap();
    assert!(replace(&disk, "e/full", b"x").is_err());
    assert_eq!(disk.list("e").unwrap().len(), 1);
}

#[test]
fn what_a_crash_left_is_known_by_its_name_and_removed() {
    let (dir, disk) = scratch();
    std::fs::create_dir(dir.path().join(".dir.0123456789abcdef.tmp")).unwrap();
    for name in [
        ".f.0123456789abcdef.tmp",
        ".grid.v1.yaml.00112233445566aa.tmp",
    ] {
        assert!(is_temporary(name));
        std::fs::write(dir.path().join(name), "half").unwrap();
    }
    let others = [
        "f",
        ".f.tmp",
        ".0123456789abcdef.tmp",
        "f.0123456789abcdef.tmp",
        ".f.0123456789ABCDEF.tmp",
        ".f.0123456789abcdef.tmp~",
    ];
    for name in others {
        assert!(!is_temporary(name), "{name}");
        std::fs::write(dir.path().join(name), "kept").unwrap();
    }
    assert_eq!(sweep(&disk, "").unwrap(), 2);
    assert_eq!(sweep(&disk, "").unwrap(), 0);
    assert_eq!(disk.list("").unwrap().len(), others.len() + 1);
}

#[test]
fn an_error_says_where() {
    let error = std::fs::read("/no/such/file")
        .context("/no/such/file")
        .unwrap_err();
    assert!(error.to_string().starts_with("/no/such/file: "), "{error}");
    assert_eq!(error.source.kind(), io::ErrorKind::NotFound);
}

const UMASK: &str = "GHYLL_TEST_UMASK";
const WHERE: &str = "GHYLL_TEST_WHERE";

/// The umask is the process's, so this is the work of one of its own.
#[test]
fn work_under_a_umask() {
    let (Ok(umask), Some(at)) = (std::env::var(UMASK), std::env::var_os(WHERE)) else {
        return;
    };
    let umask = u32::from_str_radix(&umask, 8).unwrap();
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
    let at = PathBuf::from(at);
    let project = crate::project::Project::create(&at).unwrap();
    let disk = CapDisk::new(project.ghyll()).unwrap();
    AppendFile::open(&disk, "a/b/f", 0).unwrap();
    replace(&disk, "a/new", b"x").unwrap();
    drop(project.lock("work").unwrap());
    crate::db::Db::open(&project.path_of(crate::db::ENGINE_DB)).unwrap();
    let presence = crate::project::Presence::register(&project, "one").unwrap();
    std::mem::forget(presence);
    let private = private_tempdir("ghyll-").unwrap();
    assert_eq!(mode(private.path()), 0o700);
}

#[test]
fn every_file_that_is_made_honours_the_umask() {
    for (umask, file, dir) in [
        ("002", 0o664, 0o775),
        ("022", 0o644, 0o755),
        ("077", 0o600, 0o700),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let at = scratch.path().join("p");
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "files::tests::work_under_a_umask"])
            .env(UMASK, umask)
            .env(WHERE, &at)
            .output()
            .unwrap();
        assert!(status.status.success(), "{status:?}");
        let ghyll = at.join(".ghyll");
        for path in ["a/b/f", "a/new", "lock", "engine.db", "sessions/one"] {
            assert_eq!(mode(&ghyll.join(path)), file, "{umask}: {path}");
        }
        for path in ["", "a", "a/b", "sessions"] {
            assert_eq!(mode(&ghyll.join(path)), dir, "{umask}: {path}");
        }
    }
}
