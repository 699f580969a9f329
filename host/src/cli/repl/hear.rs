//! What others ask and decide while a line is being typed, told above it.
//!
//! While a line is read this process changes nothing, so whatever is new in the
//! database is others'. SQLite says cheaply whether there is anything.

use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use ghyll::db::{Db, DbError, ENGINE_DB, Pass, PassStatus, Reader};
use ghyll::grid::Grid;
use ghyll::project::Project;
use ghyll::session::Session;

use crate::cli::output::clean;
use crate::cli::reader::Printer;

/// How often it is looked; a person is told within a second.
const EVERY: Duration = Duration::from_millis(400);

/// Reads a line by `read`, and tells by `print` what others did meanwhile.
/// What could not be told there is returned.
pub fn while_reading<T>(
    session: &Session,
    print: Option<Printer>,
    read: impl FnOnce() -> T,
) -> (T, Vec<String>) {
    // An index that cannot be read is told of by whoever needs it.
    let Ok(Some(mut ear)) = Ear::open(session.project()) else {
        return (read(), Vec::new());
    };
    let Some(mut print) = print else {
        let line = read();
        return (line, ear.news());
    };
    std::thread::scope(|scope| {
        let (reading, over) = channel::<()>();
        let listen = move || {
            while over.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                let news = ear.news();
                if !news.is_empty() {
                    print(news.join("\n"));
                }
            }
            ear.news()
        };
        let listening = std::thread::Builder::new().spawn_scoped(scope, listen);
        let line = read();
        drop(reading);
        let rest = listening.ok().and_then(|thread| thread.join().ok());
        (line, rest.unwrap_or_default())
    })
}

/// How far the project is known.
struct Ear<'a> {
    project: &'a Project,
    grid: Option<u64>,
    db: Db,
    version: i64,
    known: Known,
}

struct Known {
    record: i64,
    request: i64,
    /// Open passes, by id.
    open: BTreeMap<String, Pass>,
}

impl Known {
    fn of(reader: &Reader<'_>) -> Result<Self, DbError> {
        let open = reader.open_passes()?.into_iter();
        Ok(Self {
            record: reader.newest_record()?,
            request: reader.newest_request_id()?,
            open: open.map(|pass| (pass.pass_id.clone(), pass)).collect(),
        })
    }
}

impl<'a> Ear<'a> {
    fn open(project: &'a Project) -> Result<Option<Self>, DbError> {
        let Some(db) = Db::open_read_only(&project.path_of(ENGINE_DB))? else {
            return Ok(None);
        };
        let version = db.data_version()?;
        let known = db.read(Known::of)?;
        Ok(Some(Self {
            project,
            grid: Grid::active_version(project.ghyll()).ok(),
            db,
            version,
            known,
        }))
    }

    /// What is new, a line each.
    fn news(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Ok(version) = Grid::active_version(self.project.ghyll())
            && self.grid.replace(version) != Some(version)
        {
            lines.push(format!(
                "Grid v{version} is in force now; under it every clause is asked anew."
            ));
        }
        // Somebody writes just now: the next look has it.
        lines.extend(self.recorded().unwrap_or_default());
        lines
    }

    /// What is new in the database.
    fn recorded(&mut self) -> Result<Vec<String>, DbError> {
        let replaced = self.db.is_replaced()?;
        if replaced && let Some(db) = Db::open_read_only(&self.project.path_of(ENGINE_DB))? {
            // Made anew: what is in it is numbered as it was.
            self.db = db;
        }
        let version = self.db.data_version()?;
        if version == self.version && !replaced {
            return Ok(Vec::new());
        }
        let known = &self.known;
        let (now, lines) = self.db.read(|reader| {
            let now = Known::of(reader)?;
            let mut lines = Vec::new();
            let opened = now
                .open
                .values()
                .filter(|pass| !known.open.contains_key(&pass.pass_id));
            lines.extend(opened.map(|pass| format!("{} is being handed over.", pass.arrow_id)));
            for request in reader.requests_after(known.request)? {
                if request.answered_by.is_empty() {
                    let asked = format!(
                        "Asked: {} ({}); Enter shows it.",
                        request.attestation_ref, request.concept
                    );
                    lines.push(asked);
                }
            }
            for row in reader.recorded_after(known.record)? {
                let rec = row.rec;
                let decided = format!(
                    "{} recorded {}: {}.",
                    rec.op_id, rec.attestation_id, rec.verdict
                );
                lines.push(decided);
            }
            for pass_id in known.open.keys().filter(|id| !now.open.contains_key(*id)) {
                let Some(pass) = reader.pass(pass_id)? else {
                    continue;
                };
                lines.push(match pass.status {
                    PassStatus::Aborted => {
                        format!("Pass of {} aborted: {}.", pass.arrow_id, pass.reason)
                    }
                    _ => format!("Pass of {} closed.", pass.arrow_id),
                });
            }
            Ok::<_, DbError>((now, lines))
        })?;
        (self.version, self.known) = (version, now);
        Ok(lines.iter().map(|line| clean(line).to_string()).collect())
    }
}
