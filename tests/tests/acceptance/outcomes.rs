//! Then: what records say, where arrows stand, who was told.

use cucumber::gherkin::Step;
use cucumber::then;
use ghyll::bus::Event;
use ghyll::db::Request;
use serde_json::Value;

use crate::audit;
use crate::desk::rows;
use crate::grid::names;
use crate::journal::{Happened, KINDS};
use crate::scene::Scene;

#[then(regex = r#"^the arrow "(\S+)" is (blocked|unevaluated|provisional|complete)$"#)]
fn arrow_status(scene: &mut Scene, arrow: String, status: String) {
    let view = scene.session().arrow_view(&arrow).expect("the arrow");
    assert_eq!(view.status.as_str(), status);
}

#[then(regex = r#"^the clause (\S+) of "(\S+)" is (fail|unevaluated|pending|pass)$"#)]
fn clause_status(scene: &mut Scene, clause: String, arrow: String, status: String) {
    let view = scene.session().arrow_view(&arrow).expect("the arrow");
    let found = view
        .clauses
        .iter()
        .find(|view| view.id == clause)
        .expect("the clause");
    assert_eq!(found.status.as_str(), status);
}

#[then(regex = r#"^the clause (\S+) of "(\S+)" waits for round (\d+)$"#)]
fn clause_round(scene: &mut Scene, clause: String, arrow: String, round: u32) {
    let view = scene.session().arrow_view(&arrow).expect("the arrow");
    let found = view
        .clauses
        .iter()
        .find(|view| view.id == clause)
        .expect("the clause");
    assert_eq!(
        found.pending.as_ref().map(|request| request.round),
        Some(round)
    );
}

#[then(expr = "still waiting, in this order: {string}")]
fn waiting(scene: &mut Scene, clauses: String) {
    let pending = scene.session().pending().expect("what is pending");
    let waiting: Vec<_> = pending
        .iter()
        .map(|request| request.clause_id.clone())
        .collect();
    assert_eq!(waiting, names(&clauses).collect::<Vec<_>>());
}

#[then("nothing waits any more")]
fn nothing_waits(scene: &mut Scene) {
    let pending = scene.session().pending().expect("what is pending");
    assert_eq!(pending, Vec::<Request>::new());
}

#[then("it is done")]
fn done(scene: &mut Scene) {
    assert_eq!(scene.refusal, None);
}

#[then(expr = "it is refused: {string}")]
fn refused(scene: &mut Scene, code: String) {
    let refusal = scene.refusal.as_ref().expect("a refusal");
    assert_eq!(refusal.0, code, "{}", refusal.1);
}

#[then(expr = "the refusal says {string}")]
fn refusal_says(scene: &mut Scene, words: String) {
    let words = scene.resolve(&words);
    let refusal = scene.refusal.as_ref().expect("a refusal");
    assert!(refusal.1.contains(&words), "{}", refusal.1);
}

#[then(expr = "the record {string} says:")]
fn record_says(scene: &mut Scene, id: String, step: &Step) {
    let line = audit::record(scene, &scene.resolve(&id));
    let table = step.table.as_ref().expect("what it says");
    for row in &table.rows {
        let said = match &line.json[&row[0]] {
            Value::String(said) => said.clone(),
            Value::Null => panic!("a record has no {:?}", row[0]),
            other => other.to_string(),
        };
        assert_eq!(said, scene.resolve(&row[1]), "{}", row[0]);
    }
}

#[then(expr = "the record {string} stands in {string}")]
fn record_stands(scene: &mut Scene, id: String, path: String) {
    let line = audit::record(scene, &scene.resolve(&id));
    let path = path.replace("«its pass»", line.json["pass_id"].as_str().expect("a pass"));
    assert_eq!(line.path, scene.resolve(&path));
}

#[then(expr = "the record {string} stands under a pass of its own")]
fn own_pass(scene: &mut Scene, id: String) {
    let line = audit::record(scene, &scene.resolve(&id));
    let pass = &line.json["pass_id"];
    let others = audit::tree(scene);
    let same = others.iter().filter(|l| l.json["pass_id"] == *pass);
    assert_eq!(same.count(), 1, "{pass}");
}

#[then("the records share one file")]
fn one_file(scene: &mut Scene) {
    let lines = audit::tree(scene);
    assert!(lines.len() > 1, "there is something to share");
    assert!(
        lines.iter().all(|line| line.path == lines[0].path),
        "{lines:?}"
    );
}

#[then(expr = "the truncation of {string} was told")]
fn truncation(scene: &mut Scene, segments: String) {
    let mut told = scene
        .events()
        .into_iter()
        .filter_map(|heard| match heard.event {
            Event::AttestationPathTruncated { substituted, .. } => Some(substituted.join(", ")),
            _ => None,
        });
    assert_eq!((told.next(), told.next()), (Some(segments), None));
}

#[then(expr = "a finding tells of {string}")]
fn finding_tells(scene: &mut Scene, words: String) {
    let findings = scene
        .session()
        .read(|reader| reader.findings())
        .expect("findings");
    assert!(
        findings
            .iter()
            .any(|finding| finding.detail.contains(&words)),
        "{findings:?}"
    );
}

#[then(regex = r"^(\d+) questions wait$")]
fn waiting_count(scene: &mut Scene, count: usize) {
    assert_eq!(
        scene.session().pending().expect("what is pending").len(),
        count
    );
}

#[then("nothing was made beside the grid")]
fn nothing_made(scene: &mut Scene) {
    let mut names: Vec<_> = std::fs::read_dir(scene.ghyll(""))
        .expect("the project")
        .map(|entry| entry.expect("an entry").file_name().into_string().unwrap())
        .filter(|name| name != "lock")
        .collect();
    names.sort();
    assert_eq!(names, ["grid.current", "grid.v1.yaml"]);
}

#[then("nobody has sat down")]
fn nobody(scene: &mut Scene) {
    assert_eq!(scene.session().op_id(), None);
}

#[then(expr = "the index names the operator of {string}:")]
fn index_names(scene: &mut Scene, id: String, step: &Step) {
    let row = audit::indexed_row(&scene.session(), &id);
    let wanted = crate::desk::text(&step.table.as_ref().expect("a name").rows[1][0]);
    assert_eq!(row.rec.op_id, wanted);
}

#[then("the records are, oldest first:")]
fn records_are(scene: &mut Scene, step: &Step) {
    let table = step.table.as_ref().expect("records");
    let mut lines = audit::tree(scene);
    lines.sort_by_key(|line| line.json["timestamp"].to_string());
    let columns = &table.rows[0];
    let found: Vec<Vec<String>> = lines
        .iter()
        .map(|line| {
            let cell = |column: &String| match &line.json[column] {
                Value::String(said) => said.clone(),
                other => other.to_string(),
            };
            columns.iter().map(cell).collect()
        })
        .collect();
    // Where no session of ours opened the pass, it is the first record's.
    let pass = lines
        .first()
        .map_or(String::new(), |line| line.json["pass_id"].to_string());
    let resolve =
        |cell: &String| scene.resolve(&cell.replace("«its pass»", pass.trim_matches('"')));
    let wanted: Vec<Vec<String>> = table.rows[1..]
        .iter()
        .map(|row| row.iter().map(resolve).collect())
        .collect();
    assert_eq!(found, wanted);
}

#[then(regex = r"^(\d+) records? (?:is|are) on the trail$")]
fn record_count(scene: &mut Scene, count: usize) {
    assert_eq!(audit::tree(scene).len(), count);
    assert_eq!(audit::flat(scene).len(), count);
    let known = scene
        .session()
        .read(|reader| reader.row_count())
        .expect("the index");
    assert_eq!(known, count as u64);
}

#[then("the trail is what it was")]
fn unchanged(scene: &mut Scene) {
    assert_eq!(audit::files(scene), scene.before);
}

#[then("the trail has only grown")]
fn grown(scene: &mut Scene) {
    let now = audit::files(scene);
    assert_ne!(now, scene.before);
    for (path, before) in &scene.before {
        let (_, after) = now
            .iter()
            .find(|(p, _)| p == path)
            .expect("no file goes away");
        assert!(after.starts_with(before), "{path} was rewritten");
    }
}

#[then("these were told, in this order:")]
fn told_in_order(scene: &mut Scene, step: &Step) {
    let table = step.table.as_ref().expect("events");
    let mut kinds = kinds(scene).into_iter();
    for row in &table.rows {
        assert!(KINDS.contains(&row[0].as_str()), "{} is no kind", row[0]);
        assert!(
            kinds.any(|kind| kind == row[0]),
            "no {} where it belongs in {:?}",
            row[0],
            self::kinds(scene)
        );
    }
}

#[then(regex = r"^([a-z-]+) was told (never|once|twice|\d+ times)$")]
fn told_times(scene: &mut Scene, kind: String, times: String) {
    let times = match times.as_str() {
        "never" => 0,
        "once" => 1,
        "twice" => 2,
        more => more.trim_end_matches(" times").parse().expect("a number"),
    };
    assert!(KINDS.contains(&kind.as_str()), "{kind} is no kind of event");
    let kinds = kinds(scene);
    assert_eq!(
        kinds.iter().filter(|k| **k == kind).count(),
        times,
        "{kinds:?}"
    );
}

fn kinds(scene: &Scene) -> Vec<&'static str> {
    scene
        .events()
        .iter()
        .map(|heard| heard.event.kind())
        .collect()
}

#[then("each verdict was on disk, and its arrow stood so, when it was acknowledged:")]
fn acknowledged(scene: &mut Scene, step: &Step) {
    let table = step.table.as_ref().expect("verdicts");
    let mut found = Vec::new();
    for heard in scene.events() {
        if let Event::AttestationRecorded(recorded) = &heard.event {
            let on_disk = heard.line_on_disk.as_deref();
            assert_eq!(
                on_disk,
                Some(recorded.line.trim_end()),
                "its bytes are in its file"
            );
            let status = heard.arrow_status.expect("a status");
            found.push([recorded.row.rec.attestation_id.clone(), status]);
        }
    }
    let wanted = rows(table).map(|row| [row["record"].clone(), row["arrow"].clone()]);
    assert_eq!(found, wanted.collect::<Vec<_>>());
}

#[then("it was written, made durable with the way to it, and only then acknowledged")]
fn durable_first(scene: &mut Scene) {
    let file =
        scene.resolve("attestations/v1/checkout/stratum-behaviour/analyst__architect/«pass».jsonl");
    let all = scene.journal.all();
    let at = |wanted: &dyn Fn(&Happened) -> bool| {
        all.iter()
            .position(wanted)
            .unwrap_or_else(|| panic!("it did not happen: {all:#?}"))
    };
    let written = at(&|h| matches!(h, Happened::Written(path) if *path == file));
    let synced = at(&|h| matches!(h, Happened::Durable(path) if *path == file));
    let told = at(
        &|h| matches!(h, Happened::Event(heard) if heard.event.kind() == "attestation-recorded"),
    );
    assert!(written < synced && synced < told);
    for (i, _) in file.match_indices('/') {
        let dir = format!("{}/", &file[..i]);
        let synced = at(&|h| matches!(h, Happened::Durable(path) if *path == dir));
        assert!(synced < told, "{dir} is durable");
    }
}

#[then(expr = "the producer was told of {string}, with the locations {string}")]
fn producer_told(scene: &mut Scene, id: String, locations: String) {
    let told = scene
        .events()
        .into_iter()
        .find_map(|heard| match heard.event {
            Event::ClauseFailVerdict(recorded) if recorded.row.rec.attestation_id == id => {
                Some(recorded.row.rec.unit_payload_json.clone())
            }
            _ => None,
        });
    let payload: Value = serde_json::from_str(&told.expect("clause-fail-verdict")).unwrap();
    let wanted: Vec<Value> = locations.split(", ").map(Value::from).collect();
    assert_eq!(payload["inspected"], Value::Array(wanted));
}

#[then("the escalations ended, in this order:")]
fn escalations_ended(scene: &mut Scene, step: &Step) {
    let ended: Vec<_> = scene
        .events()
        .into_iter()
        .filter_map(|heard| match heard.event {
            Event::EscalationResolved { outcome, .. } => Some(vec![outcome]),
            _ => None,
        })
        .collect();
    assert_eq!(ended, step.table.as_ref().expect("outcomes").rows);
}

#[then("the questions were:")]
fn questions(scene: &mut Scene, step: &Step) {
    let table = step.table.as_ref().expect("questions");
    let columns = &table.rows[0];
    let found: Vec<Vec<String>> = scene
        .asked
        .iter()
        .map(|(hint, escalation)| {
            let cell = |column: &String| match column.as_str() {
                "clause" => hint.request.clause_id.clone(),
                "ref" => hint.hint.attestation_ref.clone(),
                "concept" => hint.hint.concept.clone(),
                "round" => hint.request.round.to_string(),
                "deeper" => hint.request.deeper.to_string(),
                "waiting" => hint.waiting.to_string(),
                "kind" => if *escalation { "escalation" } else { "verdict" }.to_owned(),
                "because" => hint
                    .problem
                    .as_ref()
                    .map_or(String::new(), |p| p.code.clone()),
                "attempt" => (hint.problem.as_ref().map_or(0, |p| p.attempts) + 1).to_string(),
                "context" => hint.request.context.clone(),
                "stratum" => hint.request.stratum.clone(),
                "roles" => {
                    let request = &hint.request;
                    let roles = [
                        &request.source_role,
                        &request.adversary_role,
                        &request.target_role,
                    ];
                    let named: Vec<_> = roles
                        .into_iter()
                        .filter(|r| !r.is_empty())
                        .cloned()
                        .collect();
                    named.join(" > ")
                }
                "grid" => hint.request.grid_version.to_string(),
                "earlier" => {
                    let said = hint.history.iter().map(|row| row.rec.verdict.clone());
                    said.collect::<Vec<_>>().join(", ")
                }
                other => panic!("no column {other:?} about questions"),
            };
            columns.iter().map(cell).collect()
        })
        .collect();
    assert_eq!(found, table.rows[1..].to_vec());
}

#[then("nothing was asked")]
fn nothing_asked(scene: &mut Scene) {
    assert!(scene.asked.is_empty(), "{:?}", scene.asked);
}

#[then("the passes are:")]
fn passes_are(scene: &mut Scene, step: &Step) {
    let session = scene.session();
    let found: Vec<Vec<String>> = scene
        .passes()
        .iter()
        .map(|id| {
            let pass = session
                .read(|reader| reader.pass(id))
                .expect("passes")
                .expect("the pass");
            vec![pass.arrow_id, pass.status.as_str().to_owned(), pass.reason]
        })
        .collect();
    assert_eq!(
        found,
        step.table.as_ref().expect("passes").rows[1..].to_vec()
    );
}

#[then("the findings are:")]
fn findings_are(scene: &mut Scene, step: &Step) {
    let table = step.table.as_ref().expect("findings");
    let columns = &table.rows[0];
    let findings = scene
        .session()
        .read(|reader| reader.findings())
        .expect("findings");
    let found: Vec<Vec<String>> = findings
        .iter()
        .map(|finding| {
            let cell = |column: &String| match column.as_str() {
                "clause" => finding.clause_id.clone(),
                "type" => finding.kind.clone(),
                "status" => finding.status.as_str().to_owned(),
                "detail" => finding.detail.clone(),
                "by" => finding.disposed_by.clone(),
                other => panic!("no column {other:?} about findings"),
            };
            columns.iter().map(cell).collect()
        })
        .collect();
    assert_eq!(found, table.rows[1..].to_vec());
}
