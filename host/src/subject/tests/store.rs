//! What is kept below `.ghyll/subjects`, what it costs, what damage shows.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use tempfile::TempDir;

use super::super::{Entry, Manifest, Sha256, SubjectStore};
use super::text;
use crate::files::disk::CapDisk;

/// A `.ghyll` with a store in it.
pub(super) fn store() -> (TempDir, CapDisk) {
    let dir = tempfile::tempdir().unwrap();
    let root = Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap();
    (dir, CapDisk::new(&root).unwrap())
}

fn made(count: usize, dirs: usize) -> Vec<Entry> {
    let entry = |n: usize| Entry {
        path: format!("src/part-{:03}/some-file-{n:05}.rs", n % dirs),
        sha256: Sha256::of(&n.to_be_bytes()),
    };
    (0..count).map(entry).collect()
}

fn kept_files(dir: &Path) -> BTreeMap<std::path::PathBuf, u64> {
    let mut files = BTreeMap::new();
    for prefix in fs::read_dir(dir.join("subjects")).unwrap() {
        for file in fs::read_dir(prefix.unwrap().path()).unwrap() {
            let file = file.unwrap();
            files.insert(file.path(), file.metadata().unwrap().len());
        }
    }
    files
}

#[test]
fn a_small_subject_is_kept_as_sha256sum_reads_it() {
    let (dir, disk) = store();
    let store = SubjectStore::new(&disk);
    let manifest = Manifest::new(made(10, 2));
    let subject = store.keep(&manifest).unwrap();
    let hex = subject.to_string();
    let path = dir.path().join("subjects").join(&hex[..2]).join(&hex);
    assert_eq!(fs::read(&path).unwrap(), text(&manifest));
    assert_eq!(store.read(&subject).unwrap(), manifest);
    assert_eq!(store.find(&hex[..8]).unwrap(), subject);
    assert_eq!(store.find(&hex[..7]).unwrap_err().code(), "subject-unknown");
    assert_eq!(
        store.find("00000000").unwrap_err().code(),
        "subject-unknown"
    );

    let before = fs::metadata(&path).unwrap().modified().unwrap();
    store.keep(&manifest).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);

    let edited = fs::read_to_string(&path).unwrap().replace("00001", "00091");
    fs::write(&path, edited).unwrap();
    assert_eq!(store.read(&subject).unwrap_err().code(), "subject-corrupt");
    store.keep(&manifest).unwrap();
    assert_eq!(store.read(&subject).unwrap(), manifest);

    fs::rename(&path, dir.path().join("elsewhere")).unwrap();
    assert_eq!(store.read(&subject).unwrap_err().code(), "subject-missing");
    symlink(dir.path().join("elsewhere"), &path).unwrap();
    assert_eq!(store.read(&subject).unwrap_err().code(), "subject-corrupt");
    store.keep(&manifest).unwrap();
    assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(store.read(&subject).unwrap(), manifest);
    assert_eq!(kept_files(dir.path()).len(), 1);
}

#[test]
fn a_directory_of_subjects_that_is_a_link_is_not_followed() {
    let (dir, disk) = store();
    let manifest = Manifest::new(made(3, 1));
    let subject = manifest.subject();
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("subjects")).unwrap();
    let prefix = dir.path().join("subjects").join(&subject.to_string()[..2]);
    symlink(outside.path(), prefix).unwrap();
    let error = SubjectStore::new(&disk).keep(&manifest).unwrap_err();
    assert_eq!(error.code(), "subject-write-failed");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

/// 10,000 files judged 1,000 times, a file changed in between, in a tenth of
/// the rounds: what is added a round is what counts.
#[test]
fn a_changed_file_among_many_costs_kilobytes() {
    for dirs in [1, 2_000] {
        let (dir, disk) = store();
        let store = SubjectStore::new(&disk);
        let mut entries = made(10_000, dirs);
        store.keep(&Manifest::new(entries.clone())).unwrap();
        // As they lie on disk, in blocks.
        let kept = || -> u64 {
            let sizes = kept_files(dir.path()).into_values();
            sizes.map(|size| size.div_ceil(4096) * 4096).sum()
        };
        let first = kept();
        let rounds = 5_u64;
        for round in 0..rounds {
            let at = (round as usize * 7919) % entries.len();
            entries[at].sha256 = Sha256::of(format!("round {round}").as_bytes());
            let manifest = Manifest::new(entries.clone());
            store.keep(&manifest).unwrap();
        }
        let last = Manifest::new(entries);
        assert_eq!(store.read(&last.subject()).unwrap(), last);
        let a_round = (kept() - first) / rounds;
        assert!(
            a_round < 36 << 10,
            "{dirs} directories: {a_round} bytes a round"
        );
        let thousand = first + a_round * 1000;
        assert!(
            thousand < 50_000_000,
            "{dirs} directories: {thousand} bytes in all"
        );
    }
}

#[test]
fn a_part_that_is_damaged_or_gone_is_found_and_mended() {
    let (dir, disk) = store();
    let store = SubjectStore::new(&disk);
    let manifest = Manifest::new(made(3_000, 30));
    let subject = store.keep(&manifest).unwrap();
    for path in kept_files(dir.path()).into_keys() {
        let bytes = fs::read(&path).unwrap();
        let mut edited = bytes.clone();
        let last = edited.len() - 2;
        edited[last] ^= 1;
        fs::write(&path, &edited).unwrap();
        assert!(store.read(&subject).is_err(), "{}", path.display());
        fs::remove_file(&path).unwrap();
        assert_eq!(store.read(&subject).unwrap_err().code(), "subject-missing");
        fs::write(&path, "").unwrap();
        assert_eq!(store.read(&subject).unwrap_err().code(), "subject-corrupt");
        assert_eq!(store.keep(&manifest).unwrap(), subject);
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    // A file more moves no more than what is next to it.
    let before = kept_files(dir.path()).len();
    let mut more = manifest.entries().to_vec();
    more.push(Entry {
        path: "src/part-010/aaa.rs".to_owned(),
        sha256: Sha256::of(b""),
    });
    store.keep(&Manifest::new(more)).unwrap();
    assert!(kept_files(dir.path()).len() <= before + 4);
}
