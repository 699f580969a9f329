//! The operator's desk: answers to come, in the words of a feature's table,
//! given through [`StubModal`].

use std::collections::VecDeque;

use cucumber::gherkin::Table;
use ghyll::modal::{
    EscalationChoice, ModalError, ModalHint, OperatorModalPrompt, StubAnswer, StubModal,
    VerdictAnswer,
};
use ghyll::session::{Session, Submission, Via};
use ghyll::work::Verdict;

/// One row of a table: the clause the question has to be about, and what the
/// operator does.
#[derive(Debug, Clone)]
pub struct Line {
    pub clause: String,
    pub act: Act,
}

#[derive(Debug, Clone)]
pub enum Act {
    Answer(StubAnswer),
    /// Somebody else sits down; the question stays.
    HandOver(String),
    /// A verdict by command, while the question is on the screen.
    Command(Submission),
}

/// The rows of a table with the columns `clause` and `answer`, and `locations`
/// and `note` where an answer has them.
pub fn lines(table: &Table) -> Vec<Line> {
    rows(table)
        .map(|row| {
            let note = row.get("note").map(|note| text(note)).unwrap_or_default();
            let submission = |verdict: &str| Submission {
                verdict: Verdict::parse(verdict).expect("a verdict"),
                inspected: row
                    .get("locations")
                    .map(|l| locations(l))
                    .unwrap_or_default(),
                residue: note.clone(),
                via: Via::Terminal,
                ..Submission::default()
            };
            let answer = row["answer"].as_str();
            let act = match answer {
                "skip" => Act::Answer(StubAnswer::Verdict(VerdictAnswer::Skip)),
                "leave" => Act::Answer(StubAnswer::Leave),
                "1: accept the risk" => {
                    Act::Answer(StubAnswer::Escalation(EscalationChoice::AcceptedRisk(note)))
                }
                "2: route upstream" => Act::Answer(StubAnswer::Escalation(
                    EscalationChoice::RouteUpstream(note),
                )),
                other => match (
                    other.strip_prefix("hand over to "),
                    other.strip_prefix("/attest "),
                ) {
                    (Some(op_id), _) => Act::HandOver(op_id.to_owned()),
                    (_, Some(verdict)) => Act::Command(submission(verdict)),
                    _ => {
                        let submission = VerdictAnswer::Submit(submission(other));
                        Act::Answer(StubAnswer::Verdict(submission))
                    }
                },
            };
            Line {
                clause: row["clause"].clone(),
                act,
            }
        })
        .collect()
}

/// The rows of a table by the names of its columns.
pub fn rows(table: &Table) -> impl Iterator<Item = std::collections::HashMap<String, String>> {
    let (head, rest) = table.rows.split_first().expect("a table with a head");
    rest.iter()
        .map(|row| head.iter().cloned().zip(row.iter().cloned()).collect())
}

fn locations(cell: &str) -> Vec<String> {
    cell.split(',')
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .map(text)
        .collect()
}

/// A cell, where `«5000 x»` stands for five thousand times `x`, `«blank»` for
/// two spaces, and `«U+202E»` for that character.
pub fn text(cell: &str) -> String {
    let mut text = String::new();
    let mut rest = cell;
    while let Some((before, tail)) = rest.split_once('«') {
        let (inside, after) = tail.split_once('»').expect("« has its »");
        text.push_str(before);
        let point = inside
            .strip_prefix("U+")
            .map(|hex| u32::from_str_radix(hex, 16));
        match (inside.split_once(' '), point) {
            (Some((times, what)), _) => text.push_str(&what.repeat(times.parse().expect("times"))),
            (_, Some(point)) => {
                text.push(char::from_u32(point.expect("hex")).expect("a character"))
            }
            _ if inside == "blank" => text.push_str("  "),
            _ => panic!("«{inside}» stands for nothing"),
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

/// Answers a turn's questions from the table, and leaves when it is used up.
pub struct Desk<'a> {
    session: &'a Session,
    lines: VecDeque<Line>,
    pub stub: StubModal,
}

impl<'a> Desk<'a> {
    pub fn new(session: &'a Session, lines: Vec<Line>) -> Self {
        Self {
            session,
            lines: lines.into(),
            stub: StubModal::default(),
        }
    }

    /// Rows no question was asked for.
    pub fn unused(&self) -> usize {
        self.lines.len()
    }

    /// Readies the stub for the next question. Says whether a command took the
    /// question off the screen instead.
    fn prepare(&mut self, hint: &ModalHint) -> bool {
        while let Some(line) = self.lines.pop_front() {
            assert_eq!(
                line.clause, hint.request.clause_id,
                "the clause asked about"
            );
            match line.act {
                Act::Command(submission) => {
                    let op_id = self.session.op_id().expect("an operator");
                    let reference = &hint.hint.attestation_ref;
                    self.session
                        .attest(reference, &submission, &op_id)
                        .expect("a verdict");
                    return true;
                }
                Act::HandOver(op_id) => self.session.set_op_id(Some(&op_id)).expect("an op-id"),
                Act::Answer(answer) => {
                    self.stub.answers.push_back(answer);
                    return false;
                }
            }
        }
        false
    }
}

impl OperatorModalPrompt for Desk<'_> {
    fn present_verdict(&mut self, hint: &ModalHint) -> Result<VerdictAnswer, ModalError> {
        if self.prepare(hint) {
            self.stub.asked.push((hint.clone(), false));
            return Ok(VerdictAnswer::Withdrawn);
        }
        self.stub.present_verdict(hint)
    }

    fn present_escalation(&mut self, hint: &ModalHint) -> Result<EscalationChoice, ModalError> {
        if self.prepare(hint) {
            self.stub.asked.push((hint.clone(), true));
            return Err(ModalError::Withdrawn);
        }
        self.stub.present_escalation(hint)
    }
}
