//! `--record`: a live session as a script that `ghyll replay` runs.
//!
//! What was recorded is taken from the records themselves, as they are heard
//! of on the bus, so a refused answer leaves no trace. Answers given when a
//! script would be asked too are answers of `verdict` and `escalation`, by ref
//! and round; answers that came later (after a skip, a Ctrl-C, or at a turn a
//! script does not have) become `attest` at their place, so that the order of
//! the records is kept. The file is written anew, and put in place at once,
//! with everything that happens: a session that is killed leaves a whole one.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ghyll::bus::Event;
use ghyll::db::{Request, Row};
use ghyll::session::Session;
use ghyll::text::is_harmless;
use ghyll::work::verdict::Evidence;

use crate::cli::Failure;

/// A question: a ref and its round.
type Question = (String, u32);

/// What a script throws at an escalation that was left open.
const LEFT_OPEN: &str = "\"left open\"";

/// A session being written down.
#[derive(Debug)]
pub struct Recorder {
    file: PathBuf,
    statements: Vec<String>,
    verdicts: Vec<String>,
    escalations: Vec<String>,
    /// What the model said, in cases by turn.
    replies: Vec<String>,
    /// Who answers where the script is now.
    op_id: Option<String>,
    /// Asked and not answered when it was first asked.
    deferred: HashSet<Question>,
    /// Escalations among them. A script has to decide when it is shown one.
    undecided: HashSet<Question>,
    /// The statement whose drain is on.
    draining: Option<usize>,
    /// The question put last.
    asked: Option<Question>,
    /// Whether answers go to their place in the script from here on.
    in_place: bool,
}

impl Recorder {
    /// Starts the file; one that is there is replaced.
    pub fn create(file: &Path, session: &Session) -> Result<Self, Failure> {
        let mut recorder = Self {
            file: file.to_owned(),
            statements: Vec::new(),
            verdicts: Vec::new(),
            escalations: Vec::new(),
            replies: Vec::new(),
            op_id: None,
            deferred: HashSet::new(),
            undecided: HashSet::new(),
            draining: None,
            asked: None,
            // What is pending from before is asked at no turn of a script.
            in_place: true,
        };
        recorder.op_id(session.op_id().as_deref())?;
        Ok(recorder)
    }

    /// A turn a script has too.
    pub fn turn(&mut self, statement: String) -> Result<(), Failure> {
        self.statements.push(statement);
        self.draining = Some(self.statements.len() - 1);
        self.in_place = self.asked.is_some();
        if !self.undecided.is_empty() {
            self.may_leave();
        }
        self.write()
    }

    /// Somebody answers from now on. At a question it shows with the answer.
    pub fn op_id(&mut self, op_id: Option<&str>) -> Result<(), Failure> {
        if let (Some(op_id), None) = (op_id, &self.asked) {
            self.hand_over(op_id);
        }
        self.write()
    }

    /// A question is put.
    pub fn asking(&mut self, request: &Request, escalation: bool) {
        let question = (request.attestation_ref.clone(), request.round);
        self.in_place |= self.deferred.contains(&question);
        if escalation {
            self.undecided.insert(question.clone());
        }
        self.asked = Some(question);
    }

    /// Whether what is recorded now comes from `/attest`.
    pub fn by_command(&mut self, is: bool) {
        self.in_place |= is;
    }

    /// Takes down what an event says was recorded or put off.
    pub fn heard(&mut self, event: &Event) -> Result<(), Failure> {
        match event {
            Event::AttestationRecorded(recorded) => self.answered(&recorded.row),
            Event::ModalSkipped(request) => {
                self.deferred
                    .insert((request.attestation_ref.clone(), request.round));
            }
            _ => return Ok(()),
        }
        self.write()
    }

    /// All that was pending was asked, but for what is `left`.
    pub fn drained(&mut self, left: &[Request]) -> Result<(), Failure> {
        if !left.is_empty() {
            self.may_leave();
        }
        self.deferred.extend(
            left.iter()
                .map(|request| (request.attestation_ref.clone(), request.round)),
        );
        self.asked = None;
        self.draining = None;
        // Until the next turn that a script has too.
        self.in_place = true;
        self.write()
    }

    /// What a model said in a turn of the session, counted from 1.
    pub fn replied(&mut self, turn: u64, text: &str) -> Result<(), Failure> {
        self.replies.push(format!(
            "    if turn == {turn} {{ return {}; }}\n",
            quote(text)
        ));
        self.write()
    }

    /// In the statement that is on, an escalation may be left open.
    fn may_leave(&mut self) {
        let statement = self
            .draining
            .take()
            .and_then(|at| self.statements.get_mut(at));
        if let Some(statement) = statement {
            *statement =
                format!("try {{ {statement} }} catch (e) {{ if e != {LEFT_OPEN} {{ throw e; }} }}");
        }
    }

    fn answered(&mut self, row: &Row) {
        let rec = &row.rec;
        self.undecided
            .remove(&(row.attestation_ref.clone(), row.round));
        let Evidence { inspected, residue } = Evidence::of(row);
        let is_escalation = matches!(rec.verdict.as_str(), "accepted-risk" | "route-upstream");
        let at_question = self
            .asked
            .as_ref()
            .is_some_and(|(r, n)| *r == row.attestation_ref && *n == row.round);
        if self.in_place || !at_question {
            self.in_place = true;
            self.hand_over(&rec.op_id);
            let mut fields = Vec::new();
            if !inspected.is_empty() {
                fields.push(format!("inspected: {}", array(&inspected)));
            }
            if !residue.is_empty() {
                fields.push(format!("residue: {}", quote(&residue)));
            }
            self.statements.push(format!(
                "attest({}, {}, #{{{}}});",
                quote(&row.attestation_ref),
                quote(&rec.verdict),
                fields.join(", "),
            ));
            return;
        }
        let answer = match rec.verdict.as_str() {
            "pass" => "pass()".to_owned(),
            "fail" => format!("fail({})", array(&inspected)),
            "accepted-risk" => format!("accept_risk({})", quote(&residue)),
            "route-upstream" => format!("route_upstream({})", quote(&residue)),
            _ => format!("insufficient_basis({})", quote(&residue)),
        };
        let hand_over = if self.op_id.as_deref() == Some(&rec.op_id) {
            String::new()
        } else {
            self.op_id = Some(rec.op_id.clone());
            format!("op_id({}); ", quote(&rec.op_id))
        };
        let case = format!(
            "    if hint.attestation_ref == {} && hint.round == {} {{ {hand_over}return {answer}; }}\n",
            quote(&row.attestation_ref),
            row.round,
        );
        if is_escalation {
            &mut self.escalations
        } else {
            &mut self.verdicts
        }
        .push(case);
    }

    fn hand_over(&mut self, op_id: &str) {
        if self.op_id.as_deref() != Some(op_id) {
            self.statements.push(format!("op_id({});", quote(op_id)));
            self.op_id = Some(op_id.to_owned());
        }
    }

    fn script(&self) -> String {
        let mut script = String::from(
            "// A session as it was held, recorded by `ghyll run --record`.\n\
             // `ghyll replay` comes to the same verdicts on a project that stands as\n\
             // this one stood when the session started.\n\n",
        );
        for statement in &self.statements {
            script.push_str(statement);
            script.push('\n');
        }
        script.push_str("\nfn verdict(hint) {\n");
        script.extend(self.verdicts.iter().map(String::as_str));
        script.push_str("    skip()\n}\n\nfn escalation(hint) {\n");
        script.extend(self.escalations.iter().map(String::as_str));
        script.push_str(&format!("    throw {LEFT_OPEN}\n}}\n"));
        if !self.replies.is_empty() {
            script.push_str("\nfn model(messages) {\n");
            script.push_str("    let turn = messages[messages.len() - 1].turn;\n");
            script.extend(self.replies.iter().map(String::as_str));
            script.push_str("    \"\"\n}\n");
        }
        script
    }

    fn write(&self) -> Result<(), Failure> {
        ghyll::files::output::write(&self.file, self.script().as_bytes()).map_err(|e| {
            Failure::new(
                "record-write-failed",
                format!("{}: {e}", self.file.display()),
            )
        })
    }
}

/// A chat turn, as a script says it.
pub fn say(text: &str) -> String {
    format!("say({});", quote(text))
}

/// A dispatch, as a script asks for it.
pub fn run_arrow(id: &str) -> String {
    format!("run_arrow({});", quote(id))
}

fn array(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote(text)).collect();
    format!("[{}]", quoted.join(", "))
}

/// A text as a literal. Whatever could act on a terminal or hide in an editor
/// is escaped.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c if is_harmless(c) => quoted.push(c),
            c => quoted.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    quoted.push('"');
    quoted
}
