//! What HEAD has of the record, and what any commit had.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use parking_lot::Mutex;

use super::dirs::GitDirs;
use super::process::{Asked, command};

/// The largest file that is compared, in bytes.
const FILE_MAX: u64 = 256 << 20;
/// The longest list of files that is read, in bytes.
const LIST_MAX: u64 = 1 << 30;

/// The work tree a project is in, looked at when it is first asked about.
pub struct WorkTree {
    project: PathBuf,
    below: &'static str,
    found: Mutex<Option<Option<Repository>>>,
}

impl WorkTree {
    /// That of the project at `root`, an absolute path, to be asked about the
    /// files in its directory `below`.
    pub fn new(root: &Path, below: &'static str) -> Self {
        Self {
            project: root.to_owned(),
            below,
            found: Mutex::new(None),
        }
    }

    /// Whether HEAD has a file with exactly these bytes; for `None`, whether
    /// HEAD has no such file. `path` is below the directory. Where there is no
    /// git, no commit, or more than one repository that claims the directory,
    /// it is not so.
    pub fn is_as_head(&self, path: &str, bytes: Option<&[u8]>) -> bool {
        self.ask(|repository| {
            Some(match (repository.head.get(path).cloned(), bytes) {
                (None, bytes) => bytes.is_none(),
                (Some(_), None) => false,
                (Some(oid), Some(bytes)) => repository.blob(&oid)? == bytes,
            })
        })
        .unwrap_or(false)
    }

    /// Tells `each` of the versions of a file that commits have (those of any
    /// branch, tag, stash or reflog), newest first, until it says `true`.
    /// Returns whether it did.
    pub fn any_version(&self, path: &str, each: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        self.ask(|repository| {
            let mut at = 0;
            loop {
                while let Some(oid) = repository.version(path, at) {
                    at += 1;
                    if let Some(bytes) = repository.blob(&oid)
                        && each(&bytes)
                    {
                        return Some(true);
                    }
                }
                if !repository.read_on(path)? {
                    return Some(false);
                }
            }
        })
        .unwrap_or(false)
    }

    /// The files that HEAD has and git's sparse checkout leaves out, below the
    /// directory: those that git was told not to look for, where it was also
    /// told to leave some out. Without an answer of git's it is none.
    pub fn left_out(&self) -> Vec<String> {
        // Nearly no work tree is sparse, and then git is not asked.
        let is_sparse = self.project.ancestors().any(|top| {
            let dirs = GitDirs::of(top);
            dirs.is_ok_and(|dirs| dirs.is_some_and(|dirs| patterns(&dirs.own)))
        });
        if !is_sparse {
            return Vec::new();
        }
        self.ask(|repository| {
            let mut files = left_out(repository)?;
            files.retain(|file| repository.head.contains_key(file));
            Some(files)
        })
        .unwrap_or_default()
    }

    /// The bytes that HEAD has under a name.
    pub fn of_head(&self, path: &str) -> Option<Vec<u8>> {
        self.ask(|repository| {
            let oid = repository.head.get(path).cloned()?;
            repository.blob(&oid)
        })
    }

    fn ask<T>(&self, ask: impl FnOnce(&mut Repository) -> Option<T>) -> Option<T> {
        let mut found = self.found.lock();
        let repository = found.get_or_insert_with(|| Repository::find(&self.project, self.below));
        ask(repository.as_mut()?)
    }
}

struct Repository {
    git_dir: PathBuf,
    /// The directory asked about, from the work tree's root.
    dir: Vec<u8>,
    /// The id of each file's content in HEAD, by its path below the directory.
    head: HashMap<String, String>,
    /// Those that commits have, newest first, as far as they were read.
    versions: HashMap<String, Vec<String>>,
    history: Option<History>,
    objects: Option<Objects>,
}

impl Repository {
    fn find(project: &Path, below: &str) -> Option<Self> {
        let mut inner: Option<Self> = None;
        for top in project.ancestors() {
            let Some(dirs) = GitDirs::of(top).ok()? else {
                continue;
            };
            let mut dir = project.strip_prefix(top).ok()?.as_os_str().to_owned();
            if !dir.is_empty() {
                dir.push("/");
            }
            dir.push(below);
            let dir = dir.as_bytes().to_vec();
            match &inner {
                None => {
                    let head = files_of_head(&dirs.own, &dir)?;
                    inner = Some(Self {
                        git_dir: dirs.own,
                        dir,
                        head,
                        versions: HashMap::new(),
                        history: None,
                        objects: None,
                    });
                }
                // A repository put into the one that has the record.
                Some(_) => match files_of_head(&dirs.own, &dir) {
                    Some(files) if !files.is_empty() => return None,
                    _ => {}
                },
            }
        }
        inner
    }

    fn version(&self, path: &str, at: usize) -> Option<String> {
        self.versions.get(path)?.get(at).cloned()
    }

    /// Reads on until another version of this file comes; whether one did.
    fn read_on(&mut self, path: &str) -> Option<bool> {
        if self.history.is_none() {
            self.history = Some(History::start(&self.git_dir, &self.dir)?);
        }
        let history = self.history.as_mut()?;
        while let Some((whole, oids)) = history.next() {
            let Some(name) = below(&whole, &self.dir) else {
                continue;
            };
            let here = name == path;
            let known = self.versions.entry(name).or_default();
            let before = known.len();
            for oid in oids {
                if oid.bytes().any(|b| b != b'0') && !known.contains(&oid) {
                    known.push(oid);
                }
            }
            if here && known.len() > before {
                return Some(true);
            }
        }
        Some(false)
    }

    fn blob(&mut self, oid: &str) -> Option<Vec<u8>> {
        if self.objects.is_none() {
            self.objects = Some(Objects::start(&self.git_dir)?);
        }
        let blob = self.objects.as_mut()?.blob(oid);
        if blob.is_err() {
            self.objects = None;
        }
        blob.ok()?
    }
}

fn git(git_dir: &Path) -> Command {
    let mut git = command(git_dir.parent().unwrap_or(git_dir));
    git.arg("--git-dir").arg(git_dir);
    git
}

/// A path of the work tree as one below `dir`.
fn below(path: &[u8], dir: &[u8]) -> Option<String> {
    let rest = path.strip_prefix(dir)?.strip_prefix(b"/")?;
    String::from_utf8(rest.to_vec()).ok()
}

/// The ordinary files that HEAD has below a directory of the work tree; `None`
/// if there is no HEAD, or no git.
fn files_of_head(git_dir: &Path, dir: &[u8]) -> Option<HashMap<String, String>> {
    let mut git = git(git_dir);
    git.args(["ls-tree", "-r", "-z", "--full-tree", "HEAD", "--"])
        .arg(OsStr::from_bytes(dir));
    let said = Asked::whole(&mut git, LIST_MAX)?;
    let mut files = HashMap::new();
    for entry in said.split(|byte| *byte == 0).filter(|e| !e.is_empty()) {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        let (head, path) = entry.split_at_checked(tab)?;
        let mut words = std::str::from_utf8(head).ok()?.split(' ');
        let (mode, _kind, oid) = (words.next()?, words.next()?, words.next()?);
        if let Some(name) = below(path.get(1..)?, dir) {
            // Of a link there are no bytes that a file could have.
            let oid = if mode.starts_with("100") { oid } else { "" };
            files.insert(name, oid.to_owned());
        }
    }
    Some(files)
}

/// What git's index says is left out of the work tree. The flag that says so
/// can be set by hand, and then is not believed.
fn left_out(repository: &Repository) -> Option<Vec<String>> {
    if !patterns(&repository.git_dir) {
        return None;
    }
    let mut asked = git(&repository.git_dir);
    asked.args(["config", "--type=bool", "--get", "core.sparseCheckout"]);
    if Asked::whole(&mut asked, 64)?.trim_ascii() != b"true" {
        return None;
    }
    let mut asked = git(&repository.git_dir);
    asked
        .args(["ls-files", "-t", "-z", "--full-name", "--"])
        .arg(OsStr::from_bytes(&repository.dir));
    let said = Asked::whole(&mut asked, LIST_MAX)?;
    let flagged = said
        .split(|byte| *byte == 0)
        .filter_map(|entry| entry.strip_prefix(b"S "));
    Some(
        flagged
            .filter_map(|path| below(path, &repository.dir))
            .collect(),
    )
}

/// Whether a repository has patterns of what is checked out.
fn patterns(git_dir: &Path) -> bool {
    git_dir
        .join("info/sparse-checkout")
        .symlink_metadata()
        .is_ok()
}

/// Every content that a file below a directory had, newest commits first.
struct History {
    said: BufReader<ChildStdout>,
    _commits: Asked,
    _changes: Asked,
}

impl History {
    fn start(git_dir: &Path, dir: &[u8]) -> Option<Self> {
        let mut commits = git(git_dir);
        commits
            .args(["-c", "core.commitGraph=false", "rev-list", "--all"])
            .args(["--reflog", "--ignore-missing", "--full-history", "--"])
            .arg(OsStr::from_bytes(dir));
        let (commits, _, listed) = Asked::start(&mut commits).ok()?;
        let mut changes = git(git_dir);
        changes
            .args(["diff-tree", "--stdin", "-r", "-m", "--root", "-z", "--raw"])
            .args(["--no-renames", "--no-abbrev", "--no-commit-id", "--"])
            .arg(OsStr::from_bytes(dir))
            .stdin(Stdio::from(listed));
        let (changes, _, said) = Asked::start(&mut changes).ok()?;
        Some(Self {
            said: BufReader::new(said),
            _commits: commits,
            _changes: changes,
        })
    }

    /// A file that a commit changed, with the ids of what it became and was.
    fn next(&mut self) -> Option<(Vec<u8>, [String; 2])> {
        let mut token = || {
            let mut token = Vec::new();
            self.said.read_until(0, &mut token).ok()?;
            (token.pop() == Some(0)).then_some(token)
        };
        let head = token()?;
        let head = std::str::from_utf8(&head).ok()?.strip_prefix(':')?;
        let mut words = head.split(' ').skip(2).map(str::to_owned);
        let (old, new) = (words.next()?, words.next()?);
        Some((token()?, [new, old]))
    }
}

/// A git that hands out contents by their id.
struct Objects {
    asked: ChildStdin,
    said: BufReader<ChildStdout>,
    _git: Asked,
}

impl Objects {
    fn start(git_dir: &Path) -> Option<Self> {
        let mut git = git(git_dir);
        git.args(["cat-file", "--batch"]).stdin(Stdio::piped());
        let (git, asked, said) = Asked::start(&mut git).ok()?;
        Some(Self {
            asked: asked?,
            said: BufReader::new(said),
            _git: git,
        })
    }

    /// The content with this id; `None` if there is none, or it is too large.
    fn blob(&mut self, oid: &str) -> io::Result<Option<Vec<u8>>> {
        let is_id = matches!(oid.len(), 40 | 64) && oid.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_id {
            return Ok(None);
        }
        self.asked.write_all(format!("{oid}\n").as_bytes())?;
        self.asked.flush()?;
        let mut head = String::new();
        (&mut self.said).take(1 << 10).read_line(&mut head)?;
        let mut words = head.trim_end().split(' ');
        let (_, kind, size) = (words.next(), words.next(), words.next());
        let size: u64 = match (kind, size.map(str::parse)) {
            (Some("missing"), _) => return Ok(None),
            (Some("blob"), Some(Ok(size))) if size <= FILE_MAX => size,
            // What follows is not looked at: it is asked anew.
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        let mut bytes = Vec::new();
        (&mut self.said).take(size + 1).read_to_end(&mut bytes)?;
        bytes.pop();
        match bytes.len() as u64 == size {
            true => Ok(Some(bytes)),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
