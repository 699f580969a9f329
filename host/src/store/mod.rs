//! The attestation store: the only way a verdict gets on record.
//!
//! [`AttestationStore::record`] keeps the contract's order, whatever the
//! surface: judged by the policy, durable in the audit tree, indexed, and
//! only then, with no lock held, told to observers and to the bus.

pub mod append;
pub mod disk;
mod flat;
pub mod load;
pub mod reader;
mod tree;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use crate::engine::Recorded;
pub use flat::{FLAT_FILE, FlatFile};
pub use tree::{AuditTree, Found, TREE_DIR, walk};

use crate::bus::{Bus, Event};
use crate::engine::{EngineDb, EngineError, Head, Row};
use crate::policy::{Attestation, Limits, Policy, PolicyError, Surface};

/// The code carried by `attestation-path-truncated`.
pub const PATH_TOO_LONG: &str = "attestation-path-component-too-long";
/// The most a caller may say in `reason`, in bytes; the rest is for annotations.
const CALLER_REASON_MAX: usize = 3072;

/// Why a record was not written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The policy refuses it.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Its reason leaves no room for annotations.
    #[error("the reason is longer than {CALLER_REASON_MAX} bytes")]
    ReasonTooLong,
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
    /// The index could not be asked; nothing was written.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl StoreError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Policy(e) => e.code(),
            Self::ReasonTooLong => "attestation-reason-invalid",
            Self::Duplicate(_) => "attestation-duplicate",
            Self::WriteFailed { .. } | Self::Unreadable(_) => "attestation-audit-write-failed",
            Self::Engine(e) => e.code(),
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

/// The store. Records from several threads are taken one after another.
pub struct AttestationStore {
    policy: Arc<Policy>,
    limits: Limits,
    db: Arc<EngineDb>,
    bus: Arc<Bus>,
    observers: Vec<Box<dyn Observer>>,
    writer: Mutex<Writer>,
}

struct Writer {
    tree: AuditTree,
    /// Records that are in the tree while the index could not be updated.
    unindexed: Vec<(Row, Head)>,
}

/// What steps 1 to 3 came to.
struct Written {
    recorded: Recorded,
    /// `None` if the same record was there already.
    news: Option<News>,
}

struct News {
    substituted: Vec<String>,
    index_failure: Option<String>,
}

impl AttestationStore {
    /// A store over a tree that [`load`] has brought the index up to.
    pub fn new(
        policy: Arc<Policy>,
        limits: Limits,
        db: Arc<EngineDb>,
        bus: Arc<Bus>,
        disk: Arc<dyn disk::Disk>,
        observers: Vec<Box<dyn Observer>>,
    ) -> Self {
        let writer = Mutex::new(Writer {
            tree: AuditTree::new(disk),
            unindexed: Vec::new(),
        });
        Self {
            policy,
            limits,
            db,
            bus,
            observers,
            writer,
        }
    }

    /// Records `rec`. The same record again is a silent success.
    ///
    /// # Errors
    /// The policy's codes, `attestation-duplicate`,
    /// `attestation-audit-write-failed`; then nothing was written.
    pub fn record(&self, rec: Attestation) -> Result<Arc<Recorded>, StoreError> {
        let mut writer = self.writer();
        let written = self.write(&mut writer, rec)?;
        drop(writer);
        Ok(self.tell(written))
    }

    /// Records `rec` as the next answer to `attestation_ref`: its id is chosen
    /// here, so that answers given at the same time get one round each.
    ///
    /// # Errors
    /// As [`Self::record`].
    pub fn record_next(
        &self,
        attestation_ref: &str,
        mut rec: Attestation,
    ) -> Result<Arc<Recorded>, StoreError> {
        let mut writer = self.writer();
        // Before the round is chosen: an answer may wait to be indexed.
        self.index_backlog(&mut writer)?;
        let newest = self.db.read(|tx| tx.newest_of_ref(attestation_ref))?;
        let round = newest.map_or(0, |row| row.round).saturating_add(1);
        rec.attestation_id = self.policy.attestation_id(attestation_ref, round)?;
        let written = self.write(&mut writer, rec)?;
        drop(writer);
        Ok(self.tell(written))
    }

    /// Steps 1 to 3, under the writer's lock.
    fn write(&self, writer: &mut Writer, mut rec: Attestation) -> Result<Written, StoreError> {
        if rec.reason.len() > CALLER_REASON_MAX {
            return Err(StoreError::ReasonTooLong);
        }
        self.policy.validate(&rec, self.limits)?;
        let place = self.policy.encode_path(&rec)?;
        for segment in &place.substituted {
            if !rec.reason.is_empty() {
                rec.reason.push(' ');
            }
            rec.reason.push_str("path-truncated:");
            rec.reason.push_str(segment);
        }
        self.index_backlog(writer)?;
        if let Some(row) = self.db.read(|tx| tx.row(&rec.attestation_id))? {
            if row.rec != rec {
                return Err(StoreError::Duplicate(rec.attestation_id));
            }
            return Ok(Written {
                recorded: Recorded {
                    row,
                    line: String::new(),
                },
                news: None,
            });
        }

        let before = self.db.read(|tx| tx.head(&place.path))?.unwrap_or_default();
        let encoded = self.policy.encode_line(&rec, &before.chain)?;
        let mut row = self.read_back(&encoded.line, &place.path, &before)?;
        let appended = writer
            .tree
            .append(&place.path, before.bytes, encoded.line.as_bytes())
            .map_err(|source| StoreError::WriteFailed {
                path: place.path,
                source,
            })?;

        // From here on the verdict stands, whatever fails.
        row.offset = appended.offset;
        let head = Head {
            bytes: appended.meta.bytes,
            lines: row.line,
            chain: encoded.chain,
            last_offset: appended.offset,
            mtime_ns: appended.meta.mtime_ns,
        };
        writer.unindexed.push((row.clone(), head));
        let index_failure = self.index_backlog(writer).err().map(|e| e.to_string());
        Ok(Written {
            recorded: Recorded {
                row,
                line: encoded.line,
            },
            news: Some(News {
                substituted: place.substituted,
                index_failure,
            }),
        })
    }

    /// Reads a line as any later reader will, before it is written: what could
    /// not be read again is never on record.
    fn read_back(&self, line: &str, path: &str, before: &Head) -> Result<Row, StoreError> {
        let cursor = reader::cursor(Surface::Tree(path.to_owned()), before);
        let checked = self
            .policy
            .check_lines(line.as_bytes(), &cursor, self.limits)?;
        let unreadable = || StoreError::Unreadable(path.to_owned());
        let line = checked.lines.into_iter().next().ok_or_else(unreadable)?;
        if let Some(problem) = line.problems.first() {
            return Err(PolicyError::Refused(problem.clone()).into());
        }
        reader::row(line, path).ok_or_else(unreadable)
    }

    /// Brings the index up to the tree. Until that is possible nothing more
    /// is recorded, for rounds and duplicates could not be told.
    fn index_backlog(&self, writer: &mut Writer) -> Result<(), EngineError> {
        if writer.unindexed.is_empty() {
            return Ok(());
        }
        self.db.transaction(|tx| {
            for (row, head) in &writer.unindexed {
                tx.insert_row(row)?;
                tx.set_head(&row.path, head)?;
            }
            Ok::<_, EngineError>(())
        })?;
        writer.unindexed.clear();
        Ok(())
    }

    /// Step 4, with no lock held: observers first, then the bus.
    fn tell(&self, written: Written) -> Arc<Recorded> {
        let recorded = Arc::new(written.recorded);
        let Some(news) = written.news else {
            return recorded;
        };
        let mut failures = Vec::new();
        failures.extend(news.index_failure.map(|message| ("index", message)));
        for observer in &self.observers {
            if let Err(message) = observer.recorded(&recorded) {
                failures.push((observer.surface(), message));
            }
        }
        if !news.substituted.is_empty() {
            tracing::warn!(
                code = PATH_TOO_LONG,
                path = recorded.row.path,
                "path truncated"
            );
            self.bus.publish(&Event::AttestationPathTruncated {
                recorded: Arc::clone(&recorded),
                substituted: news.substituted,
            });
        }
        for (surface, message) in failures {
            tracing::error!(surface, message, "attestation-audit-durability-failed");
            self.bus.publish(&Event::AttestationAuditDurabilityFailed {
                attestation_id: recorded.row.rec.attestation_id.clone(),
                surface,
                message,
            });
        }
        self.bus
            .publish(&Event::AttestationRecorded(Arc::clone(&recorded)));
        recorded
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
