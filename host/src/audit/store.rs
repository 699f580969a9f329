//! The attestation store: the only way a verdict gets on record.
//!
//! [`AttestationStore::record`] keeps the contract's order, whatever the
//! surface: judged by the policy, durable in the audit tree, indexed, and
//! only then, with no lock held, told to observers and to the bus.

use std::sync::Arc;

use parking_lot::Mutex;

use super::{AuditTree, Recorded, TREE_DIR, reader};
use crate::bus::{Bus, Event};
use crate::db::{Db, DbError, Head, Row, Tx};
use crate::files::disk::Disk;
use crate::policy::{Attestation, Limits, Policy, PolicyError, Surface};
use crate::project::{ProjectError, SessionLock};

/// The code carried by `attestation-path-truncated`.
pub const PATH_TOO_LONG: &str = "attestation-path-component-too-long";

/// Why a record was not written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The policy refuses it.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Its id is taken by a record that says something else.
    #[error("{0} is on record already, with other content")]
    Duplicate(String),
    /// The tree did not take it; nothing was written.
    #[error("{TREE_DIR}/{path}: {source}; nothing was recorded")]
    WriteFailed {
        /// The file, below the tree's root.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The line would not read back; nothing was written.
    #[error("{TREE_DIR}/{0}: the line would not read back; nothing was recorded")]
    Unreadable(String),
    /// The project's lock was taken away; nothing was written.
    #[error(transparent)]
    Lock(#[from] ProjectError),
    /// The index could not be asked; nothing was written.
    #[error(transparent)]
    Db(#[from] DbError),
}

impl StoreError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Policy(e) => e.code(),
            Self::Duplicate(_) => "attestation-duplicate",
            Self::WriteFailed { .. } | Self::Unreadable(_) => "attestation-audit-write-failed",
            Self::Lock(e) => e.code(),
            Self::Db(e) => e.code(),
        }
    }
}

/// Something told of every record after it is durable.
pub trait Observer: Send + Sync {
    /// What it keeps, for messages.
    fn surface(&self) -> &'static str;
    /// Told of a record, with no lock held.
    ///
    /// # Errors
    /// Says what failed, in words; the record stands all the same.
    fn recorded(&self, recorded: &Recorded) -> Result<(), String>;
}

/// What else happens in the transaction in which a record is indexed.
pub type Act<'a> = &'a mut dyn FnMut(&Tx<'_>, &Arc<Recorded>) -> Result<(), DbError>;

/// The store of one project. Whoever calls it holds the project's lock and has
/// brought the index up to the tree.
pub struct AttestationStore {
    policy: Arc<Policy>,
    db: Arc<Db>,
    bus: Arc<Bus>,
    observers: Vec<Box<dyn Observer>>,
    tree: Mutex<AuditTree>,
}

/// What to write, and by which rules.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The record. Its reason is what the caller says, its id may be empty.
    pub rec: Attestation,
    /// The ref it answers.
    pub attestation_ref: String,
    /// The limits of its grid.
    pub limits: Limits,
    /// How it came in, as an annotation says it; empty if nobody says.
    pub via: &'static str,
}

/// A record that is in the tree, not yet told of.
#[must_use = "observers and the bus have to be told"]
pub struct Written {
    recorded: Arc<Recorded>,
    /// `None` if the same record was there already.
    news: Option<News>,
}

struct News {
    substituted: Vec<String>,
    clock_behind: bool,
    index_failure: Option<String>,
}

/// A record that its observers were told of.
#[must_use = "the bus has to be told"]
pub struct Observed {
    written: Written,
    failures: Vec<(&'static str, String)>,
}

impl Written {
    /// The record.
    pub fn recorded(&self) -> &Arc<Recorded> {
        &self.recorded
    }
}

impl AttestationStore {
    /// A store over a tree that [`load`](super::load) has brought the index
    /// up to.
    pub fn new(
        policy: Arc<Policy>,
        db: Arc<Db>,
        bus: Arc<Bus>,
        disk: Arc<dyn Disk>,
        observers: Vec<Box<dyn Observer>>,
    ) -> Self {
        let tree = Mutex::new(AuditTree::new(disk));
        Self {
            policy,
            db,
            bus,
            observers,
            tree,
        }
    }

    /// Cuts off what a write that failed left in the tree. Done before the tree
    /// is read, for what was refused may stand there as a whole line.
    ///
    /// # Errors
    /// `attestation-audit-write-failed` if it still cannot be cut off.
    pub fn mend(&self, lock: &SessionLock) -> Result<(), StoreError> {
        lock.still_ours()?;
        let mended = self.tree.lock().mend();
        mended.map_err(|(path, source)| StoreError::WriteFailed { path, source })
    }

    /// Steps 1 to 3 of recording: judged, durable in the tree, indexed.
    /// `act` is called in the index's own transaction. A draft without an id
    /// becomes the next round on its ref; the same record again is a silent
    /// success.
    ///
    /// # Errors
    /// The policy's codes, `attestation-duplicate`,
    /// `attestation-audit-write-failed`; then nothing was written.
    pub fn write(
        &self,
        draft: Draft,
        lock: &SessionLock,
        act: Act<'_>,
    ) -> Result<Written, StoreError> {
        let Draft {
            mut rec,
            attestation_ref,
            limits,
            via,
        } = draft;
        let newest = self.db.read(|reader| reader.standing(&attestation_ref))?;
        if rec.attestation_id.is_empty() {
            let round = newest.as_ref().map_or(0, |s| s.round).saturating_add(1);
            rec.attestation_id = self.policy.attestation_id(&attestation_ref, round)?;
        }
        self.policy.validate(&rec, limits)?;
        let place = self.policy.encode_path(&rec)?;
        rec.reason = self
            .policy
            .annotate_reason(&rec.reason, via, &place.substituted)?;
        if let Some(recorded) = self.on_record(&rec, &place.path, limits)? {
            return Ok(Written {
                recorded,
                news: None,
            });
        }
        // A clock that is behind must not make this round older than the last.
        let floor = newest
            .map(|standing| standing.listed_at)
            .unwrap_or_default();
        let clock_behind = rec.timestamp < floor;
        if clock_behind {
            rec.timestamp = crate::clock::just_after(&floor).unwrap_or(rec.timestamp);
        }

        let before = self.db.read(|reader| reader.head(&place.path))?;
        let before = before.unwrap_or_default();
        let encoded = self.policy.encode_line(&rec, &before.chain)?;
        let (mut row, head) = self.read_back(&encoded.line, &place.path, &before, limits)?;
        lock.still_ours()?;
        let appended = self
            .tree
            .lock()
            .append(&place.path, before.bytes, encoded.line.as_bytes())
            .map_err(|source| StoreError::WriteFailed {
                path: place.path.clone(),
                source,
            })?;

        // From here on the verdict stands, whatever fails.
        row.offset = appended.offset;
        let head = Head {
            bytes: appended.meta.bytes,
            last_offset: appended.offset,
            mtime_ns: appended.meta.mtime_ns,
            ..head
        };
        let recorded = Arc::new(Recorded {
            row,
            line: encoded.line,
        });
        let indexed = self.db.transaction(|tx| {
            let mut head = head;
            if head.file_id == 0 {
                head.file_id = tx.new_file_id()?;
            }
            tx.insert_row(&recorded.row, head.file_id)?;
            tx.set_head(&place.path, &head)?;
            act(tx, &recorded)
        });
        Ok(Written {
            recorded,
            news: Some(News {
                substituted: place.substituted,
                clock_behind,
                index_failure: indexed.err().map(|e: DbError| e.to_string()),
            }),
        })
    }

    /// The record with this id, if it is there; one in the same file may not
    /// say something else.
    fn on_record(
        &self,
        rec: &Attestation,
        path: &str,
        limits: Limits,
    ) -> Result<Option<Arc<Recorded>>, StoreError> {
        // Ref and round are the policy's to read out of an id.
        let mut probe = rec.clone();
        probe.timestamp = "2000-01-01T00:00:00.000000000Z".to_owned();
        let line = self.policy.encode_line(&probe, "")?.line;
        let (this, _) = self.read_back(&line, path, &Head::default(), limits)?;
        let round = self
            .db
            .read(|reader| reader.round(&this.attestation_ref, this.round))?;
        if let Some(row) = round.iter().find(|row| row.rec == *rec) {
            let (row, line) = (row.clone(), String::new());
            return Ok(Some(Arc::new(Recorded { row, line })));
        }
        match round.is_empty() {
            true => Ok(None),
            false => Err(StoreError::Duplicate(rec.attestation_id.clone())),
        }
    }

    /// Reads a line as any later reader will, before it is written: what could
    /// not be read again is never on record.
    fn read_back(
        &self,
        line: &str,
        path: &str,
        before: &Head,
        limits: Limits,
    ) -> Result<(Row, Head), StoreError> {
        let cursor = reader::cursor(Surface::Tree(path.to_owned()), before);
        let checked = self.policy.check_lines(line.as_bytes(), &cursor, limits)?;
        let unreadable = || StoreError::Unreadable(path.to_owned());
        let line = checked.lines.into_iter().next().ok_or_else(unreadable)?;
        if let Some(problem) = line.problems.first() {
            return Err(PolicyError::Refused(problem.clone()).into());
        }
        let head = Head {
            file_id: before.file_id,
            lines: checked.cursor.lines,
            chain: checked.cursor.chain,
            ..Head::default()
        };
        Ok((reader::row(&line, path).ok_or_else(unreadable)?, head))
    }

    /// Tells the observers, who keep copies of the line: still under the
    /// project's lock, for they write, but under no other.
    pub fn observe(&self, written: Written) -> Observed {
        let mut failures = Vec::new();
        if let Some(news) = &written.news {
            failures.extend(news.index_failure.clone().map(|message| ("index", message)));
            for observer in &self.observers {
                if let Err(message) = observer.recorded(&written.recorded) {
                    failures.push((observer.surface(), message));
                }
            }
        }
        Observed { written, failures }
    }

    /// Tells the bus, under no lock at all.
    pub fn publish(&self, observed: Observed) -> Arc<Recorded> {
        let Observed { written, failures } = observed;
        let recorded = written.recorded;
        let Some(news) = written.news else {
            return recorded;
        };
        let attestation_id = &recorded.row.rec.attestation_id;
        if news.clock_behind {
            self.bus.publish(&Event::ClockBehind {
                attestation_id: attestation_id.clone(),
                timestamp: recorded.row.rec.timestamp.clone(),
            });
        }
        if !news.substituted.is_empty() {
            self.bus.publish(&Event::AttestationPathTruncated {
                recorded: Arc::clone(&recorded),
                substituted: news.substituted,
            });
        }
        for (surface, message) in failures {
            tracing::error!(surface, message, "attestation-audit-durability-failed");
            self.bus.publish(&Event::AttestationAuditDurabilityFailed {
                attestation_id: attestation_id.clone(),
                surface,
                message,
            });
        }
        self.bus
            .publish(&Event::AttestationRecorded(Arc::clone(&recorded)));
        recorded
    }
}
