//! The manifests that records name as their subjects: each looked at once, when
//! the first record names it.
//!
//! A manifest that is not what its name says was changed, which is an issue. One
//! that is gone takes the list of files with it and no verdict: what was judged
//! still is what the record says, and whether it is so now is still compared. So
//! that is a warning, as it has to be in a clone that never had it.
//!
//! What is told is told once a damaged file, with the first record that needs
//! it, for subjects share files.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use parking_lot::Mutex;

use super::{Issue, On, issue};
use crate::codes::{SUBJECT_CORRUPT as CORRUPT, SUBJECT_MISSING as MISSING};
use crate::files::disk::Disk;
use crate::policy::Attestation;
use crate::project::GHYLL_DIR;
use crate::subject::{SUBJECTS_DIR, Sha256, SubjectError, SubjectStore};
use crate::text::count;

/// Manifests that are remembered to be well; whoever names more has some looked
/// at again.
const REMEMBERED: usize = 1 << 16;
/// Damaged files that are told apart.
const FAULTS: usize = 1000;

/// Where a record stands, by file and line, and its id.
type Place = (String, u64, String);

/// What records name, held against what is kept.
pub(crate) struct Subjects<'a> {
    disk: &'a dyn Disk,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    well: HashSet<Sha256>,
    /// What ails a subject, by the file that is damaged.
    ill: HashMap<Sha256, String>,
    faults: BTreeMap<String, Fault>,
    /// Records that name what is damaged beyond those told.
    more: u64,
}

struct Fault {
    code: &'static str,
    why: String,
    records: u64,
    first: Place,
}

impl<'a> Subjects<'a> {
    /// Those kept on this disk, whose root is `.ghyll`.
    pub(crate) fn new(disk: &'a dyn Disk) -> Self {
        Self {
            disk,
            known: Mutex::default(),
        }
    }

    /// Holds the manifest that a record names against its name.
    pub(crate) fn hold(&self, rec: &Attestation, file: &str, line: u64) {
        let Some(subject) = named(&rec.hint_json) else {
            return;
        };
        let place = (file.to_owned(), line, rec.attestation_id.clone());
        {
            let known = &mut *self.known.lock();
            if known.well.contains(&subject) {
                return;
            }
            if let Some(damaged) = known.ill.get(&subject) {
                if let Some(fault) = known.faults.get_mut(damaged) {
                    fault.also(place);
                }
                return;
            }
        }
        let read = SubjectStore::new(self.disk).read(&subject);
        let known = &mut *self.known.lock();
        match read {
            Ok(_) => {
                if known.well.len() >= REMEMBERED {
                    known.well.clear();
                }
                known.well.insert(subject);
            }
            Err(error) => known.fault(subject, &error, place),
        }
    }

    /// What was found: issues, and warnings.
    pub(crate) fn tell(self) -> (Vec<Issue>, Vec<Issue>) {
        let known = self.known.into_inner();
        let gone = matches!(self.disk.meta(SUBJECTS_DIR), Ok(None));
        let (mut issues, mut warnings) = (Vec::new(), Vec::new());
        let missing = |fault: &Fault| fault.code == MISSING;
        if gone && known.faults.values().all(missing) && !known.faults.is_empty() {
            let records: u64 = known.faults.values().map(|fault| fault.records).sum();
            let records = records.saturating_add(known.more);
            warnings.push(Issue {
                count: records,
                ..issue(
                    MISSING,
                    On::Tree,
                    SUBJECTS_DIR,
                    format!(
                        "not there, and with it the lists of files that {} about; the verdicts \
                         stand",
                        were(records)
                    ),
                )
                .advise(format!(
                    "restore it: git checkout -- {GHYLL_DIR}/{SUBJECTS_DIR}"
                ))
            });
            return (issues, warnings);
        }
        for (path, fault) in known.faults {
            let to = if missing(&fault) {
                &mut warnings
            } else {
                &mut issues
            };
            to.push(fault.told(&path));
        }
        if known.more > 0 {
            issues.push(Issue {
                count: known.more,
                ..issue(
                    CORRUPT,
                    On::Tree,
                    SUBJECTS_DIR,
                    format!(
                        "and more lists of files, which {} about, are damaged or not there",
                        were(known.more)
                    ),
                )
            });
        }
        (issues, warnings)
    }
}

impl Known {
    fn fault(&mut self, subject: Sha256, error: &SubjectError, place: Place) {
        let (digest, why) = match error {
            SubjectError::Missing { digest, .. } => (*digest, "it is not there".to_owned()),
            SubjectError::Corrupt { digest, why, .. } => (*digest, why.clone()),
            other => (subject, other.to_string()),
        };
        let damaged = crate::subject::place(&digest);
        if let Some(fault) = self.faults.get_mut(&damaged) {
            fault.also(place);
        } else if self.faults.len() >= FAULTS {
            self.more = self.more.saturating_add(1);
            return;
        } else {
            let fault = Fault {
                code: error.code(),
                why,
                records: 1,
                first: place,
            };
            self.faults.insert(damaged.clone(), fault);
        }
        if self.ill.len() < REMEMBERED {
            self.ill.insert(subject, damaged);
        }
    }
}

impl Fault {
    fn also(&mut self, place: Place) {
        self.records = self.records.saturating_add(1);
        if place < self.first {
            self.first = place;
        }
    }

    fn told(self, path: &str) -> Issue {
        let (file, line, id) = self.first;
        let others = match self.records.saturating_sub(1) {
            0 => String::new(),
            n => format!(
                " and {}",
                count(usize::try_from(n).unwrap_or(usize::MAX), "other")
            ),
        };
        let stands = if self.code == MISSING {
            "; the verdict stands"
        } else {
            ""
        };
        let message = format!(
            "the list of files that {id}{others} judged: {}{stands} (on record at {file}:{line})",
            self.why
        );
        Issue {
            attestation_id: id,
            count: self.records,
            ..issue(self.code, On::Tree, path, message).advise(format!(
                "restore it (git checkout -- {GHYLL_DIR}/{path}); a verdict on the same files \
                 writes it anew"
            ))
        }
    }
}

/// How many verdicts were about something.
fn were(records: u64) -> String {
    match usize::try_from(records).unwrap_or(usize::MAX) {
        1 => "1 verdict was".to_owned(),
        n => format!("{} were", count(n, "verdict")),
    }
}

/// The subject a record names, which the policy has judged already.
fn named(hint_json: &str) -> Option<Sha256> {
    #[derive(serde::Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        subject: Cow<'a, str>,
    }
    // Most records of what covers nothing are spared the reading.
    if !hint_json.contains("\"subject\"") {
        return None;
    }
    let named: Named<'_> = serde_json::from_str(hint_json).ok()?;
    named.subject.parse().ok()
}
