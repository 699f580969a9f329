//! Damage: files cut at every byte, and bits flipped anywhere in a tree.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ghyll::audit::FlatFile;
use ghyll::audit::accepted_losses::AcceptedLosses;
use ghyll::audit::load::{self, Elsewhere, LoadError, Loaded, Notice, Sources};
use ghyll::db::Db;
use ghyll::files::disk::{CapDisk, Disk};
use ghyll::policy::Limits;
use ghyll::policy::Policy;
use ghyll::project::Project;

use super::Dice;
use super::fixture::{self, ARROW};

/// A project with this many records, spread over a few files.
pub fn project_of(dir: &Path, policy: &Arc<Policy>, records: u64) {
    fixture::make(dir);
    let session = fixture::open(dir, policy).unwrap();
    let mut dice = Dice::new(records);
    for n in 0..records {
        if n % 4 == 0 {
            session.dispatch(ARROW).unwrap();
        }
        fixture::attest(&session, &mut dice).unwrap();
    }
}

/// Flips `flips` random bits of the tree, one at a time, each of which
/// verification must find. Returns how many it found.
///
/// # Panics
/// If one is not found.
pub fn flip_bits(flips: u64, seed: u64) -> u64 {
    let policy = Arc::new(Policy::load().unwrap());
    let scratch = fixture::scratch();
    let dir = scratch.path();
    project_of(dir, &policy, 24);
    fixture::assert_clean(dir, &policy);
    let files: Vec<_> = fixture::tree(dir).into_iter().collect();
    let bytes: u64 = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let mut dice = Dice::new(seed);
    for _ in 0..flips {
        let (mut at, bit) = (dice.below(bytes) as usize, dice.below(8));
        let (path, whole) = files
            .iter()
            .find(|(_, bytes)| {
                let here = at < bytes.len();
                if !here {
                    at -= bytes.len();
                }
                here
            })
            .unwrap();
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << bit;
        fs::write(path, &flipped).unwrap();
        let report = fixture::look(dir, &policy);
        let found = report.tree_issues().next();
        assert!(
            found.is_some(),
            "bit {bit} of byte {at} of {}",
            path.display()
        );
        fs::write(path, whole).unwrap();
    }
    fixture::assert_clean(dir, &policy);
    flips
}

/// Cuts a file of three records at every byte, without an index (a crash in
/// the first session ever) and with one that saw all of it. Returns how many
/// cuts were tried.
///
/// # Panics
/// If one does not come to what it must.
pub fn cut_everywhere(step: usize) -> u64 {
    let policy = Arc::new(Policy::load().unwrap());
    let scratch = fixture::scratch();
    let dir = scratch.path();
    project_of(dir, &policy, 3);
    let (path, whole) = fixture::tree(dir).into_iter().next().unwrap();
    let flat = dir.join(".ghyll/attestations.jsonl");
    let whole_flat = fs::read(&flat).unwrap();
    assert_eq!(whole_flat, whole);
    let ends: Vec<usize> = whole
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'\n')
        .map(|(at, _)| at + 1)
        .collect();
    assert_eq!(ends.len(), 3);

    let project = Project::open(dir).unwrap();
    let disk: Arc<dyn Disk> = Arc::new(CapDisk::new(project.ghyll()).unwrap());
    let losses = AcceptedLosses::default();
    let elsewhere = Elsewhere::of(project.root());
    let flat_file = FlatFile::new(Arc::clone(&disk));
    let limits = |_version| Limits {
        max_residue_bytes: 0,
    };
    // As a session starts: nothing of what is refused is kept.
    let start = |db: &Db| {
        let sources = Sources {
            policy: &policy,
            limits: &limits,
            disk: disk.as_ref(),
            losses: &losses,
            elsewhere: &elsewhere,
            repair: true,
        };
        let mut loaded = Loaded::default();
        db.transaction(|tx| {
            load::index(sources, tx, &mut loaded)?;
            match loaded.damage.pop() {
                None => Ok(()),
                Some(damage) => Err(damage),
            }
        })?;
        load::catch_up(sources, db, &flat_file, &mut loaded.notices)?;
        Ok::<_, LoadError>(loaded.notices)
    };
    // An index that saw all of it; being refused does not change it.
    let seen = Db::private().unwrap();
    start(&seen).unwrap();
    let db = Db::private().unwrap();
    let mut cuts = 0;
    for keep in (0..=whole.len()).step_by(step) {
        cuts += 1;
        let lines = ends.iter().filter(|end| **end <= keep).count();
        let good = if lines == 0 { 0 } else { ends[lines - 1] };

        // Nobody saw more: what is whole is indexed, the rest is cut off, and
        // doing it twice is doing it once.
        fs::write(&path, &whole[..keep]).unwrap();
        fs::write(&flat, &whole[..good]).unwrap();
        db.transaction(|tx| tx.clear_index()).unwrap();
        let notices = start(&db).unwrap();
        let cut = (keep - good) as u64;
        let partial = notices
            .iter()
            .any(|n| matches!(n, Notice::PartialTail { bytes, .. } if *bytes == cut));
        assert_eq!(partial, keep > good, "cut at {keep}: {notices:?}");
        assert_eq!(fs::read(&path).unwrap(), &whole[..good]);
        assert_eq!(db.read(|reader| reader.row_count()).unwrap(), lines as u64);
        assert_eq!(start(&db).unwrap(), [], "cut at {keep}, the second time");

        // The flat file may be cut as well: it is caught up.
        if cuts % 8 == 0 {
            fs::write(&flat, &whole[..good / 3]).unwrap();
            start(&db).unwrap();
            assert_eq!(fs::read(&flat).unwrap(), &whole[..good]);
        }

        // The index saw all of it: refused, and nothing is touched.
        if keep < whole.len() {
            fs::write(&flat, &whole).unwrap();
            fs::write(&path, &whole[..keep]).unwrap();
            match start(&seen) {
                Err(LoadError::TailMissing { found, seen, .. }) => {
                    assert_eq!((found, seen), (keep as u64, whole.len() as u64));
                }
                other => panic!("cut at {keep}: {other:?}"),
            }
            assert_eq!(fs::read(&path).unwrap(), &whole[..keep]);
            assert_eq!(fs::read(&flat).unwrap(), whole);
        }
    }
    cuts
}
