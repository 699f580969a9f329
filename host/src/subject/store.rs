//! Manifests kept below `.ghyll/subjects`, each under its own SHA-256.
//!
//! A record names a subject, so the subject is durable before the record is
//! written, whole or not at all. What is already there is read and compared:
//! a kept file that was damaged is written anew. What is read is held against
//! its name, so a manifest changed by hand is found, and losing one loses a
//! list of files, never a verdict.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::SubjectError;
use super::manifest::{Manifest, Sha256};
use super::parts::{MAGIC, each_file, label, name_of, read_list};
use crate::files::disk::{Disk, Kind, read_full};
use crate::project::GHYLL_DIR;

/// The directory below `.ghyll`.
pub const SUBJECTS_DIR: &str = "subjects";
/// The largest file that is read, in bytes. Those written here are smaller by
/// far; another host may keep a manifest whole.
const FILE_MAX: u64 = 256 << 20;
/// The most lists of lists inside each other.
const DEPTH_MAX: usize = 32;
/// The fewest digits that may stand for a subject.
pub const DIGITS_MIN: usize = 8;

/// The kept manifests of a project.
pub struct SubjectStore<'a> {
    disk: &'a dyn Disk,
}

impl<'a> SubjectStore<'a> {
    /// Those on this disk, whose root is `.ghyll`.
    #[must_use]
    pub fn new(disk: &'a dyn Disk) -> Self {
        Self { disk }
    }

    /// Keeps a manifest, durably; returns its subject. Keeping it again does
    /// nothing but put right what is damaged.
    ///
    /// Two processes may do so at a time.
    ///
    /// # Errors
    /// `subject-write-failed`. The manifest is then not kept, though parts of
    /// it may be.
    pub fn keep(&self, manifest: &Manifest) -> Result<Sha256, SubjectError> {
        let subject = manifest.subject();
        let failed = |path: &str, source| SubjectError::Write {
            path: format!("{GHYLL_DIR}/{path}"),
            source,
        };
        let known = self.is_there(&place(&subject));
        let mut dirs = BTreeSet::new();
        self.disk
            .create_dir(SUBJECTS_DIR)
            .map_err(|e| failed(SUBJECTS_DIR, e))?;
        let settle = |dirs: &mut BTreeSet<String>| {
            // A new directory's name, then the names in it.
            for dir in ["", SUBJECTS_DIR] {
                self.disk.sync_dir(dir).map_err(|e| failed(dir, e))?;
            }
            while let Some(dir) = dirs.pop_first() {
                self.disk.sync_dir(&dir).map_err(|e| failed(&dir, e))?;
            }
            Ok(())
        };
        each_file(manifest, |name, bytes| {
            let (dir, path) = (directory(&name), place(&name));
            if name == subject {
                // Whoever finds the list finds its parts.
                settle(&mut dirs)?;
            }
            let same = self.holds(&path, bytes);
            if !same {
                self.write(&dir, &path, bytes)
                    .map_err(|e| failed(&path, e))?;
            }
            // The name of a part that is there may not be durable, unless a
            // list of parts was made since, which comes after.
            if !same || !known || name == subject {
                dirs.insert(dir);
            }
            Ok(())
        })?;
        settle(&mut dirs)?;
        Ok(subject)
    }

    /// A kept manifest, held against its name.
    ///
    /// # Errors
    /// `subject-missing`, `subject-corrupt`, also of a part;
    /// `subject-unreadable`.
    pub fn read(&self, subject: &Sha256) -> Result<Manifest, SubjectError> {
        let mut manifest = Manifest::default();
        self.read_part(subject, subject, 0, &mut manifest)?;
        Ok(manifest)
    }

    /// The kept subject that begins with these digits, [`DIGITS_MIN`] of them
    /// or more.
    ///
    /// # Errors
    /// `subject-unknown` if there is none, or more than one;
    /// `subject-unreadable`.
    pub fn find(&self, digits: &str) -> Result<Sha256, SubjectError> {
        let none = |why| SubjectError::Ambiguous {
            digits: digits.to_owned(),
            why,
        };
        if let Ok(whole) = digits.parse() {
            return Ok(whole);
        }
        let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        if digits.len() < DIGITS_MIN || digits.len() > 64 || !digits.chars().all(is_digit) {
            return Err(none("not 8 to 64 lower-case hex digits"));
        }
        let dir = format!("{SUBJECTS_DIR}/{}", digits.get(..2).unwrap_or_default());
        let entries = match self.disk.list(&dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => {
                let path = format!("{GHYLL_DIR}/{dir}");
                return Err(SubjectError::Unreadable { path, source });
            }
        };
        let mut found = entries
            .iter()
            .filter(|entry| entry.name.starts_with(digits))
            .filter_map(|entry| entry.name.parse::<Sha256>().ok());
        match (found.next(), found.next()) {
            (Some(subject), None) => Ok(subject),
            (None, _) => Err(none("no kept subject begins so")),
            (Some(_), Some(_)) => Err(none("more than one kept subject begins so")),
        }
    }

    fn read_part(
        &self,
        name: &Sha256,
        subject: &Sha256,
        depth: usize,
        manifest: &mut Manifest,
    ) -> Result<(), SubjectError> {
        let path = place(name);
        let corrupt = |why: String| SubjectError::Corrupt {
            path: format!("{GHYLL_DIR}/{path}"),
            why,
            digest: *name,
            subject: *subject,
        };
        let bytes = match self.load(&path) {
            Ok(Loaded::Bytes(bytes)) => bytes,
            Ok(Loaded::Nothing) => {
                return Err(SubjectError::Missing {
                    path: format!("{GHYLL_DIR}/{path}"),
                    digest: *name,
                    subject: *subject,
                });
            }
            Ok(Loaded::Unfit(why)) => return Err(corrupt(why.to_owned())),
            Err(source) => {
                let path = format!("{GHYLL_DIR}/{path}");
                return Err(SubjectError::Unreadable { path, source });
            }
        };
        let Some(list) = bytes.strip_prefix(MAGIC) else {
            if bytes.is_empty() || Sha256::of(&bytes) != *name {
                return Err(corrupt(
                    "its bytes are not those that its name says".to_owned(),
                ));
            }
            return manifest.extend(&bytes).map_err(|e| corrupt(e.to_string()));
        };
        if depth == DEPTH_MAX {
            return Err(corrupt(
                "lists of parts in lists of parts without end".to_owned(),
            ));
        }
        let parts = read_list(list).map_err(|why| corrupt(why.to_owned()))?;
        drop(bytes);
        let before = manifest.entries().len();
        for (part, directory) in parts {
            // Each part has lines, and lines are in order: no part can be
            // read twice, so this ends.
            let start = manifest.entries().len();
            self.read_part(&part, subject, depth + 1, manifest)?;
            let entries = manifest.entries();
            if label(entries, &(start..entries.len())) != directory {
                return Err(corrupt(format!("its part {part} is not of {directory}")));
            }
        }
        let lines = manifest.entries().get(before..).unwrap_or_default();
        if name_of(lines) != *name {
            return Err(corrupt(
                "its parts are not those that its name says".to_owned(),
            ));
        }
        Ok(())
    }

    fn load(&self, path: &str) -> io::Result<Loaded> {
        let meta = match self.disk.meta(path) {
            Ok(Some(meta)) => meta,
            Ok(None) => return Ok(Loaded::Nothing),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Loaded::Nothing),
            Err(e) => return Err(e),
        };
        match meta.kind {
            Kind::File if meta.bytes > FILE_MAX => return Ok(Loaded::Unfit("too large to be one")),
            Kind::File => {}
            Kind::Symlink => return Ok(Loaded::Unfit("a symbolic link, not followed")),
            Kind::Dir | Kind::Other => return Ok(Loaded::Unfit("not an ordinary file")),
        }
        let mut file = self.disk.open_read(path)?;
        let mut bytes = vec![0; usize::try_from(meta.bytes).unwrap_or(0)];
        let read = read_full(file.as_mut(), 0, &mut bytes)?;
        bytes.truncate(read);
        Ok(Loaded::Bytes(bytes))
    }

    fn is_there(&self, path: &str) -> bool {
        matches!(self.disk.meta(path), Ok(Some(_)))
    }

    fn holds(&self, path: &str, bytes: &[u8]) -> bool {
        let size = bytes.len() as u64;
        matches!(self.disk.meta(path), Ok(Some(meta)) if meta.kind == Kind::File && meta.bytes == size)
            && matches!(self.load(path), Ok(Loaded::Bytes(found)) if found == bytes)
    }

    /// In full under a name of its own, durable, then renamed: a reader sees
    /// all of it or what was there before.
    fn write(&self, dir: &str, path: &str, bytes: &[u8]) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        self.disk.create_dir(dir)?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let temp = format!("{dir}/.{}-{count}.tmp", std::process::id());
        let mut file = self.disk.create_append(&temp)?;
        // What a process of the same number left behind when it died.
        file.set_len(0)?;
        let mut rest = bytes;
        while !rest.is_empty() {
            match file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        file.sync()?;
        drop(file);
        self.disk.rename(&temp, path)
    }
}

enum Loaded {
    Bytes(Vec<u8>),
    Nothing,
    /// Something that can be no kept manifest.
    Unfit(&'static str),
}

fn directory(name: &Sha256) -> String {
    format!("{SUBJECTS_DIR}/{:02x}", name.0.first().unwrap_or(&0))
}

/// Where a manifest, or a part of one, is kept, below `.ghyll`.
pub(crate) fn place(name: &Sha256) -> String {
    format!("{}/{name}", directory(name))
}
