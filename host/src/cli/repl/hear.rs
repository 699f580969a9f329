//! What others ask and decide, told above the line that is being typed, and
//! before the next one is asked for.
//!
//! While a line is read this process changes nothing, so whatever is new in the
//! database is others'. Between two lines it is others' too, but for what the
//! bus told of ([`Own`]). SQLite says cheaply whether there is anything.

use std::collections::{BTreeMap, HashSet};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use ghyll::bus::Event;
use ghyll::db::{Db, DbError, ENGINE_DB, Pass, PassStatus, Reader};
use ghyll::grid::Grid;
use ghyll::project::Project;
use ghyll::text::count;

use crate::cli::output::clean;
use crate::cli::reader::Printer;

/// So much is told at once, for a question may be on the screen.
const TOLD: usize = 10;
/// How often it is looked; a person is told within a second.
const EVERY: Duration = Duration::from_millis(400);

/// Reads a line by `read`, and tells by `print` what others did meanwhile.
/// What could not be told there is returned.
pub fn while_reading<T>(
    ear: Option<&mut Ear<'_>>,
    print: Option<Printer>,
    read: impl FnOnce() -> T,
) -> (T, Vec<String>) {
    // An index that cannot be read is told of by whoever needs it.
    let Some(ear) = ear else {
        return (read(), Vec::new());
    };
    let Some(mut print) = print else {
        let line = read();
        return (line, ear.news(&Own::default()));
    };
    std::thread::scope(|scope| {
        let (reading, over) = channel::<()>();
        let listen = move || {
            let nothing = Own::default();
            while over.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                let news = ear.news(&nothing);
                if !news.is_empty() {
                    print(news.join("\n"));
                }
            }
            ear.news(&nothing)
        };
        let listening = std::thread::Builder::new().spawn_scoped(scope, listen);
        let line = read();
        drop(reading);
        let rest = listening.ok().and_then(|thread| thread.join().ok());
        (line, rest.unwrap_or_default())
    })
}

/// What this process did itself since it last listened: records and passes by
/// their ids, requests by their numbers.
#[derive(Default)]
pub struct Own {
    ids: HashSet<String>,
    requests: HashSet<i64>,
}

impl Own {
    /// Takes note of what the bus told.
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::PassOpened(pass)
            | Event::PassClosed(pass)
            | Event::RecoveryPassAbortedCrash(pass) => {
                self.ids.insert(pass.pass_id.clone());
            }
            Event::AttestationRecorded(recorded) => {
                self.ids.insert(recorded.row.rec.attestation_id.clone());
            }
            Event::AttestationRequested(request)
            | Event::InsufficientBasisRoundsExceeded { request, .. }
            | Event::RecoveryAttestationRepublished(request) => {
                self.requests.insert(request.request_id);
            }
            _ => {}
        }
    }
}

/// Lines to be told: of many, which a pull may bring, the last ones.
fn told(lines: &[String]) -> Vec<String> {
    let (before, last) = lines.split_at(lines.len().saturating_sub(TOLD));
    let more = match before.len() {
        0 => None,
        n => Some(format!("{}, then:", count(n, "earlier change"))),
    };
    let shown = last.iter().map(|line| clean(line).to_string());
    more.into_iter().chain(shown).collect()
}

/// How far the project is known.
pub struct Ear<'a> {
    project: &'a Project,
    grid: Option<u64>,
    db: Db,
    version: i64,
    known: Known,
}

struct Known {
    record: i64,
    /// The time of the newest record.
    time: String,
    request: i64,
    /// Open passes, by id.
    open: BTreeMap<String, Pass>,
}

impl Known {
    fn of(reader: &Reader<'_>) -> Result<Self, DbError> {
        let open = reader.open_passes()?.into_iter();
        Ok(Self {
            record: reader.newest_record()?,
            time: reader.newest_time()?.unwrap_or_default(),
            request: reader.newest_request_id()?,
            open: open.map(|pass| (pass.pass_id.clone(), pass)).collect(),
        })
    }
}

impl<'a> Ear<'a> {
    /// Listens from now on; nothing if there is no index yet.
    pub fn open(project: &'a Project) -> Result<Option<Self>, DbError> {
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

    /// What is new and not this process's own, a line each.
    pub fn news(&mut self, own: &Own) -> Vec<String> {
        let mut lines = Vec::new();
        if let Ok(version) = Grid::active_version(self.project.ghyll())
            && self.grid.replace(version) != Some(version)
        {
            lines.push(format!(
                "Grid v{version} is in force now; under it every clause is asked anew."
            ));
        }
        // Somebody writes just now: the next look has it.
        lines.extend(self.recorded(own).unwrap_or_default());
        lines
    }

    /// What is new in the database.
    fn recorded(&mut self, own: &Own) -> Result<Vec<String>, DbError> {
        let replaced = self.db.is_replaced()?;
        if replaced && let Some(db) = Db::open_read_only(&self.project.path_of(ENGINE_DB))? {
            // Made anew: requests are numbered as they were, records are not.
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
                .filter(|pass| !known.open.contains_key(&pass.pass_id))
                .filter(|pass| !own.ids.contains(&pass.pass_id));
            lines.extend(opened.map(|pass| format!("{} is being handed over.", pass.arrow_id)));
            for request in reader.requests_after(known.request)? {
                let ours = own.requests.contains(&request.request_id);
                if request.answered_by.is_empty() && !ours {
                    let asked = format!(
                        "Asked: {} ({}); Enter shows it.",
                        request.attestation_ref, request.concept
                    );
                    lines.push(asked);
                }
            }
            let recorded = match replaced {
                true => reader.recorded_since(&known.time)?,
                false => reader.recorded_after(known.record)?,
            };
            for row in recorded {
                let rec = row.rec;
                if own.ids.contains(&rec.attestation_id) {
                    continue;
                }
                let decided = format!(
                    "{} recorded {}: {}.",
                    rec.op_id, rec.attestation_id, rec.verdict
                );
                lines.push(decided);
            }
            let gone = known.open.keys().filter(|id| !now.open.contains_key(*id));
            for pass_id in gone.filter(|id| !own.ids.contains(*id)) {
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
        Ok(told(&lines))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ghyll::audit::rebuild::rebuild;
    use ghyll::bus::Bus;
    use ghyll::clock::SystemClock;
    use ghyll::grid::GridLimits;
    use ghyll::policy::Policy;
    use ghyll::session::{Session, Submission, Via};
    use ghyll::work::{Verdict, standing};

    use super::*;

    /// Two arrows; the one that is handed over first comes last by its files.
    const GRID: &str = "\
version: 1
arrows:
  - id: A-late
    source-role: analyst
    target-role: architect
    stratum: behaviour
    context: z
    clauses:
      - {id: C1, concept: Every ending is described, eval: attested}
  - id: A-early
    source-role: analyst
    target-role: architect
    stratum: behaviour
    context: a
    clauses:
      - {id: C1, concept: Amounts are named, eval: attested}
      - {id: C2, concept: The glossary holds, eval: attested}
";

    #[test]
    fn after_a_rebuild_what_is_new_is_told_and_nothing_twice() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::create(dir.path()).unwrap();
        Grid::write(project.ghyll(), 1, GRID).unwrap();
        let policy = Arc::new(Policy::load().unwrap());
        let session = Session::open(
            project.try_clone().unwrap(),
            Arc::clone(&policy),
            Arc::new(SystemClock),
            Arc::new(Bus::default()),
        );
        let session = session.unwrap();
        let pass = |clause: &str| {
            let submission = Submission {
                verdict: Verdict::Pass,
                via: Via::Command,
                ..Submission::default()
            };
            session.attest(clause, &submission, "bob").unwrap();
        };
        for arrow in ["A-late", "A-early"] {
            session.dispatch(arrow).unwrap();
            pass(&format!("{arrow}/C1"));
        }
        let mut ear = Ear::open(&project).unwrap().unwrap();
        let nothing = Own::default();
        assert_eq!(ear.news(&nothing), [""; 0]);
        pass("A-early/C2");
        let grids = GridLimits::new(project.ghyll()).unwrap();
        let limits = |version| grids.for_reading(version);
        let fold = &standing::fold_all;
        rebuild(&project, &policy, &limits, &SystemClock, None, fold).unwrap();
        let told = ear.news(&nothing);
        let recorded = told.iter().filter(|line| line.contains("recorded"));
        let expected = "bob recorded att-A-early-C2-v1: pass.";
        assert_eq!(recorded.collect::<Vec<_>>(), [expected], "{told:?}");
        assert_eq!(ear.news(&nothing), [""; 0]);
    }

    #[test]
    fn of_much_that_happened_the_last_is_told_and_the_rest_counted() {
        let lines: Vec<String> = (0..TOLD + 2).map(|n| format!("change {n}")).collect();
        let some = told(&lines[..TOLD]);
        assert_eq!(some, lines[..TOLD]);
        let many = told(&lines);
        assert_eq!(many[0], "2 earlier changes, then:");
        assert_eq!(many[1..], lines[2..]);
    }
}
