//! What an answer is given with: places and a note, judged by the policy as
//! soon as they are complete.

use ghyll::locations;
use ghyll::modal::ModalHint;
use ghyll::policy::UnitPayload;
use ghyll::text::count;

use super::{Editor, Stop, TermModal, Word};
use crate::cli::Failure;
use crate::cli::reader::Topic;

/// Asks for several lines.
const SEVERAL: &str = "<<";
/// Asks for an editor.
const EDITOR: &str = "!e";
/// Takes what was said before.
pub(super) const AGAIN: &str = "!!";
/// Ends the places in front of a note, in what a pass is given with.
const NOTE_FOLLOWS: &str = " -- ";
/// The most of a note of several lines that is kept until it is refused for
/// its length, in bytes: no grid allows more.
const NOTE_MAX: usize = 1 << 20;

impl TermModal<'_, '_> {
    /// A pass with evidence: places, a note, or places, `--` and a note.
    pub(super) fn pass_with(&mut self, given: &str) -> Result<Option<Word>, Stop> {
        let root = self.session.project().root();
        let (places, note) = match given.split_once(NOTE_FOLLOWS) {
            Some((places, note)) => (locations::split(places), note.trim().to_owned()),
            None => {
                let words = locations::split(given);
                if words.iter().all(|word| locations::looks_like(root, word)) {
                    (words, String::new())
                } else {
                    (Vec::new(), given.to_owned())
                }
            }
        };
        for doubt in places
            .iter()
            .filter_map(|place| locations::doubt(root, place))
        {
            // Here no second line is asked for: the whole answer is one.
            self.say(&format!("Note that {doubt}."));
        }
        let unit = if note.is_empty() {
            "record-locations-inspected"
        } else {
            "write-residue-note"
        };
        Ok(self
            .takes(unit, &places, &note)?
            .then_some(Word::Pass(places, note)))
    }

    /// Asks for places until the policy takes them and the operator means them.
    pub(super) fn places(&mut self, hint: &ModalHint) -> Result<Vec<String>, Stop> {
        let mut doubted: Option<Vec<String>> = None;
        loop {
            let typed = self.ask(hint, "Where, comma-separated: ", Topic::Locations)?;
            let given = match (typed.trim(), &doubted) {
                ("k" | "keep", Some(kept)) => kept.clone(),
                (AGAIN, _) if !self.desk.draft().places.is_empty() => {
                    self.desk.draft().places.clone()
                }
                _ => locations::split(&typed),
            };
            if !self.takes("record-locations-inspected", &given, "")? {
                continue;
            }
            let root = self.session.project().root();
            let doubts: Vec<String> = given
                .iter()
                .filter_map(|place| locations::doubt(root, place))
                .collect();
            for doubt in &doubts {
                self.say(&format!("Note that {doubt}."));
            }
            // Nobody is there to be asked back where the input is not a
            // terminal: the next line is the answer to the next question.
            if doubts.is_empty() || doubted.as_ref() == Some(&given) || !self.desk.is_interactive()
            {
                self.desk.draft().places.clone_from(&given);
                return Ok(given);
            }
            self.say("k (keep) records it as given; or give the places again.");
            doubted = Some(given);
        }
    }

    /// Asks for a note until the policy takes it.
    pub(super) fn note(&mut self, hint: &ModalHint, what: &str) -> Result<String, Stop> {
        let max = hint.max_residue_bytes;
        self.say(&format!(
            "{what}, in one line of at most {max} bytes ({SEVERAL} for several lines, {EDITOR} for \
             an editor):",
        ));
        loop {
            let typed = self.ask(hint, "Note: ", Topic::Note)?;
            let note = match typed.trim() {
                SEVERAL => self.lines(hint)?,
                EDITOR => match self.edit(hint) {
                    Ok(note) => note,
                    Err(failure) => {
                        self.out.failure(&failure);
                        self.or_leave()?;
                        continue;
                    }
                },
                AGAIN if !self.desk.draft().note.is_empty() => self.desk.draft().note.clone(),
                _ => typed.trim_end_matches('\n').to_owned(),
            };
            if note.contains('\n') {
                self.say(&format!(
                    "A note of {}, {} of {max} bytes.",
                    count(note.lines().count(), "line"),
                    note.len()
                ));
            }
            if !note.trim().is_empty() {
                self.desk.draft().note.clone_from(&note);
            }
            if self.takes("write-residue-note", &[], &note)? {
                return Ok(note);
            }
            if !self.desk.draft().note.is_empty() {
                self.say(&format!("{EDITOR} opens it in an editor."));
            }
        }
    }

    /// Several lines, up to one that is a lone `.`; none of them is a command.
    fn lines(&mut self, hint: &ModalHint) -> Result<String, Stop> {
        let max = usize::try_from(hint.max_residue_bytes).unwrap_or(usize::MAX);
        self.say("Several lines; a line that is only . ends them.");
        let mut note = String::new();
        let mut first = true;
        loop {
            let line = self.line("| ", Topic::Note)?;
            if line == "." {
                return Ok(note);
            }
            if !std::mem::replace(&mut first, false) {
                note.push('\n');
            }
            note.push_str(&line);
            // What has no end is not waited for where it may come from a
            // program, and not kept where it is a person's.
            if note.len() > max && !self.desk.is_interactive() {
                return Ok(note);
            }
            if note.len() > NOTE_MAX {
                let end = note.floor_char_boundary(NOTE_MAX);
                note.truncate(end);
            }
        }
    }

    /// A note written in the operator's editor.
    fn edit(&mut self, hint: &ModalHint) -> Result<String, Failure> {
        if !self.desk.is_interactive() {
            return Err(Failure::usage(format!(
                "an editor needs a terminal; {SEVERAL} takes several lines"
            )));
        }
        let comments = self.question(hint, false).comments();
        let draft = self.desk.draft().note.clone();
        Editor::of(self.session.project().root()).note(self.desk, &draft, &comments)
    }

    /// Whether the policy takes the evidence; if not, it is said why.
    fn takes(&mut self, unit: &str, inspected: &[String], residue: &str) -> Result<bool, Stop> {
        let session = self.session;
        let payload = UnitPayload {
            inspected: inspected.to_vec(),
            residue: residue.to_owned(),
        };
        match session
            .policy()
            .validate_unit_payload(unit, &payload, session.limits())
        {
            Ok(()) => Ok(true),
            Err(error @ ghyll::policy::PolicyError::Component(_)) => {
                Err(Failure::from(error).into())
            }
            Err(error) => {
                self.refuse(error.code(), &error.to_string())?;
                Ok(false)
            }
        }
    }
}
