//! What a question looks like: all that helps to answer it, in words.
//!
//! In the order in which it is wanted: how many there are, the claim, where it
//! comes from, what was said before, the lines at the places named, what each
//! answer leads to. Plain lines, no frames: read the same by eye, by a screen
//! reader, at 40 columns and without colour. Colour only repeats what the
//! words say.

use std::path::Path;

use ghyll::db::{Finding, Row};
use ghyll::locations;
use ghyll::modal::ModalHint;
use ghyll::subject::changed::{DiffLine, differences};
use ghyll::text::{ago, count, excerpt};
use ghyll::work::verdict::Evidence;
use jiff::Timestamp;

use crate::cli::output::{ADDED, ALARM, Output, QUIET, REMOVED, STRONG, Text, status, text};

/// The most lines that are shown of the places named.
const LINES_MAX: usize = 12;
/// The most lines that are shown of each thing the producer says.
const SAID_MAX: usize = 6;
/// The most changed files shown with a question.
const CHANGES_MAX: usize = 10;
/// The columns from which answers and what they lead to stand in two columns.
const TABLE_MIN: usize = 60;
/// The columns of the comments below a note.
const COMMENT: usize = 76;

/// A question, and what is known about what it leads to.
pub struct Question<'q> {
    /// What is asked.
    pub hint: &'q ModalHint,
    /// Whether it is an escalation.
    pub escalation: bool,
    /// Where the places are.
    pub root: &'q Path,
    /// The time ages are told by.
    pub now: Timestamp,
    /// How many rounds without a basis make an escalation.
    pub rounds_max: u32,
    /// How many other clauses of the arrow do not pass; `None` if the grid in
    /// force does not have it.
    pub others_open: Option<usize>,
}

/// A line, and how far what does not fit into it is indented.
type Laid = (Text, usize);

impl Question<'_> {
    /// Shows it.
    pub fn show(&self, out: &Output) {
        let columns = out.columns();
        out.note("");
        for (line, indent) in self.lines(columns) {
            out.note_wrapped(line, indent);
        }
    }

    /// The question in plain lines, for below a note in an editor. The keys
    /// are left out: there it is not answered by them.
    pub fn comments(&self) -> Vec<String> {
        let mut lines = Vec::new();
        lines.push((Text::from(&self.hint.request.concept), 2));
        lines.push((self.origin(), 2));
        self.earlier(&mut lines);
        self.places(&mut lines, COMMENT);
        self.producer(&mut lines, COMMENT);
        lines
            .iter()
            .flat_map(|(line, indent)| line.wrapped(*indent, COMMENT))
            .map(|line| line.plain())
            .collect()
    }

    fn lines(&self, columns: usize) -> Vec<Laid> {
        let hint = self.hint;
        let mut lines = Vec::new();
        let waiting = count(hint.waiting.saturating_add(1), "question");
        if self.escalation {
            lines.push((Text::styled("*** ESCALATION ***", ALARM), 0));
        }
        lines.push((
            match &hint.op_id {
                Some(op_id) => text![&waiting, " waiting, answered by ", op_id],
                None => text![
                    &waiting,
                    " waiting, and nobody answers yet: /op-id ID says who you are"
                ],
            },
            2,
        ));
        lines.push((Text::default(), 0));
        lines.push((text!["  ", Text::styled(&hint.request.concept, STRONG)], 2));
        lines.push((Text::default(), 0));
        lines.push((self.origin(), 2));
        self.earlier(&mut lines);
        self.changed(&mut lines, CHANGES_MAX);
        self.places(&mut lines, columns);
        self.producer(&mut lines, columns);
        lines.push((Text::default(), 0));
        if self.escalation {
            self.ways_out(&mut lines);
        } else {
            self.answers(&mut lines, columns);
        }
        lines
    }

    /// Where it comes from.
    fn origin(&self) -> Text {
        let request = &self.hint.request;
        let adversary = match request.adversary_role.as_str() {
            "" => String::new(),
            role => format!(" ({role} doubts it)"),
        };
        let deeper = match request.deeper {
            0 => String::new(),
            n => {
                let n = usize::try_from(n).unwrap_or(usize::MAX);
                format!(
                    " · routed upstream {}: {} deeper than the grid asks",
                    count(n, "time"),
                    count(n, "tier")
                )
            }
        };
        Text::styled(
            &format!(
                "{} · {} {} · {} → {}{adversary} · {}, {}{deeper}",
                name(self.hint),
                request.arrow_id,
                request.clause_id,
                request.source_role,
                request.target_role,
                request.context,
                request.stratum,
            ),
            QUIET,
        )
    }

    /// What was said in earlier rounds, and what is open.
    fn earlier(&self, lines: &mut Vec<Laid>) {
        if self.hint.history.is_empty() && self.hint.findings.is_empty() {
            return;
        }
        lines.push((Text::default(), 0));
        for row in &self.hint.history {
            let rec = &row.rec;
            let when = rec
                .timestamp
                .parse()
                .map(|then| format!(", {}", ago(then, self.now)))
                .unwrap_or_default();
            lines.push((
                text![
                    &format!("Round {}  ", row.round),
                    status(&rec.verdict),
                    &format!(" by {}{when}", rec.op_id)
                ],
                2,
            ));
            let said = Evidence::of(row);
            for place in &said.inspected {
                lines.push((text!["  at ", place], 5));
            }
            if !said.residue.is_empty() {
                lines.push((text!["  ", &excerpt(&said.residue)], 2));
            }
        }
        for finding in &self.hint.findings {
            lines.push((open_finding(finding), 2));
        }
    }

    /// All that changed since the last round, line by line where that can be
    /// told.
    pub fn difference(&self) -> Vec<Text> {
        let changed = &self.hint.changed;
        if changed.is_empty() {
            let words = "Nothing changed since the last round, as far as can be told.";
            return vec![words.into()];
        }
        let mut lines = Vec::new();
        let mut differences = differences(self.root, changed).into_iter();
        for change in changed {
            lines.push(Text::styled(&change.in_words(), STRONG));
            match differences.next().flatten() {
                Some(difference) => lines.extend(difference.iter().map(diff_line)),
                None => lines.push(Text::styled(
                    "  what it was is in neither the worktree nor git's HEAD, or it is no text",
                    QUIET,
                )),
            }
        }
        lines
    }

    /// What changed in the covered files since the last round.
    fn changed(&self, lines: &mut Vec<Laid>, most: usize) {
        let changed = &self.hint.changed;
        if changed.is_empty() {
            return;
        }
        lines.push((Text::default(), 0));
        lines.push((Text::from("Changed since the last round:"), 2));
        for change in changed.iter().take(most) {
            lines.push((text!["  ", &change.in_words()], 5));
        }
        if changed.len() > most {
            let more = count(changed.len() - most, "file");
            let more = format!("  … and {more} more; d shows all");
            lines.push((Text::styled(&more, QUIET), 2));
        }
    }

    /// What the producer of the work says of it: its words under its name, for
    /// nobody has checked them.
    fn producer(&self, lines: &mut Vec<Laid>, columns: usize) {
        let said = &self.hint.request.evidence;
        if said.locations.is_empty() && said.basis.is_empty() && said.residue.is_empty() {
            return;
        }
        let role = &self.hint.request.source_role;
        lines.push((Text::default(), 0));
        lines.push((
            Text::from(&format!(
                "The producer ({role}) says, and nobody has checked it:"
            )),
            2,
        ));
        for (what, text) in [("it holds:", &said.basis), ("left open:", &said.residue)] {
            // Line by line, each behind a bar: none of it can look like ours.
            for (n, line) in text.lines().take(SAID_MAX).enumerate() {
                let what = if n == 0 { what } else { "" };
                lines.push((text![behind_bar(what), &excerpt(line)], 15));
            }
            if text.lines().nth(SAID_MAX).is_some() {
                let more = "             … `ghyll pending --json` has all";
                lines.push((Text::styled(more, QUIET), 15));
            }
        }
        if !said.locations.is_empty() {
            let places = said.locations.join(", ");
            lines.push((text![behind_bar("look at:"), &excerpt(&places)], 15));
            self.lines_at(&said.locations, lines, columns);
        }
    }

    /// The lines at the places named last.
    fn places(&self, lines: &mut Vec<Laid>, columns: usize) {
        self.lines_at(&named(self.hint), lines, columns);
    }

    fn lines_at(&self, places: &[String], lines: &mut Vec<Laid>, columns: usize) {
        let mut left = LINES_MAX;
        for place in places {
            let Some((shown, more)) = locations::lines_at(self.root, place, left) else {
                continue;
            };
            if shown.is_empty() {
                continue;
            }
            left -= shown.len();
            lines.push((Text::default(), 0));
            lines.push((Text::styled(place, QUIET), 2));
            for (number, line) in shown {
                lines.push((
                    text![
                        Text::styled(&format!("{number:>5} │ "), QUIET),
                        &cut(&line, columns)
                    ],
                    8,
                ));
            }
            if more {
                lines.push((Text::styled("      … o opens it", QUIET), 2));
            }
            if left == 0 {
                return;
            }
        }
    }

    fn answers(&self, lines: &mut Vec<Laid>, columns: usize) {
        let request = &self.hint.request;
        let mut pass = resolved(&self.hint.findings);
        match self.others_open {
            Some(0) => pass.push(format!("{} is complete", request.arrow_id)),
            Some(n) => pass.push(format!(
                "{} of {} left to decide",
                count(n, "clause"),
                request.arrow_id
            )),
            None => {}
        }
        let answer = |key: &str, word: &str, leads: &str| {
            let said = match leads {
                "" => word.to_owned(),
                // A column of its own only where there is room for one.
                _ if columns < TABLE_MIN => format!("{word}: {leads}"),
                _ => format!("{word:<19} {leads}"),
            };
            (text!["  ", Text::styled(key, STRONG), "  ", &said], 5)
        };
        let without = self.without_basis().saturating_add(1);
        let basis = if without >= self.rounds_max {
            format!("say what is missing; {without} in a row, so it has to be decided then")
        } else {
            format!(
                "say what is missing; {without} of {} in a row",
                self.rounds_max
            )
        };
        lines.push(answer("p", "pass", &pass.join("; ")));
        lines.push(answer(
            "f",
            "fail",
            &format!("say where; {} is told", request.source_role),
        ));
        lines.push(answer("i", "insufficient-basis", &basis));
        lines.push(answer("s", "skip", "asked again at your next turn"));
        lines.push(self.keys("P PLACES or P NOTE passes with evidence, "));
    }

    fn ways_out(&self, lines: &mut Vec<Laid>) {
        let rounds = usize::try_from(self.without_basis()).unwrap_or(usize::MAX);
        lines.push((
            Text::from(&format!(
                "{} in a row found no basis to judge this. It has to be decided now: there is no \
                 default and no skip.",
                count(rounds, "round"),
            )),
            0,
        ));
        let decider = match &self.hint.op_id {
            Some(op_id) => format!("You decide it as {op_id}"),
            None => "Nobody answers yet: /op-id ID says who decides".to_owned(),
        };
        lines.push((
            Text::from(&format!(
                "{decider}; Ctrl-C leaves it for somebody else, and it stays open until one of \
                 you decides."
            )),
            0,
        ));
        lines.push((Text::default(), 0));
        let disposes = match self.hint.findings.first() {
            Some(first) => format!("; disposes of finding #{}", first.finding_id),
            None => String::new(),
        };
        lines.push((
            text![
                "  ",
                Text::styled("1", STRONG),
                &format!("  accept the risk: the clause may pass (asks for a note){disposes}")
            ],
            5,
        ));
        lines.push((
            text![
                "  ",
                Text::styled("2", STRONG),
                &format!(
                    "  route upstream: back to {} for a deeper artifact, and this pass ends (asks \
                     why)",
                    self.hint.request.source_role
                )
            ],
            5,
        ));
        lines.push(self.keys(""));
    }

    /// The keys that are no answers, after those that are.
    fn keys(&self, answers: &str) -> Laid {
        let difference = match self.hint.changed.is_empty() {
            true => "",
            false => "d shows the difference, ",
        };
        let keys = format!(
            "  {answers}o opens a place in your editor, {difference}? shows this again, / begins \
             a command"
        );
        (Text::styled(&keys, QUIET), 2)
    }

    /// How many rounds in a row, in this pass, found no basis.
    fn without_basis(&self) -> u32 {
        let rounds = self
            .hint
            .history
            .iter()
            .rev()
            .take_while(|row| {
                row.rec.verdict == "insufficient-basis"
                    && row.rec.pass_id == self.hint.request.pass_id
            })
            .count();
        u32::try_from(rounds).unwrap_or(u32::MAX)
    }
}

/// What stands before a line of the producer's: none of it can look like ours.
pub fn behind_bar(what: &str) -> Text {
    Text::styled(&format!("  {what:<11}│ "), QUIET)
}

/// The ref and its round, for headings.
pub fn name(hint: &ModalHint) -> String {
    format!(
        "{}, round {}",
        hint.request.attestation_ref, hint.request.round
    )
}

/// The places named last: by the newest round that named any.
fn named(hint: &ModalHint) -> Vec<String> {
    hint.history
        .iter()
        .rev()
        .map(|row: &Row| Evidence::of(row).inspected)
        .find(|places| !places.is_empty())
        .unwrap_or_default()
}

/// The places that are worth opening: those named last, else the producer's.
pub fn to_open(hint: &ModalHint) -> Vec<String> {
    let named = named(hint);
    if named.is_empty() {
        return hint.request.evidence.locations.clone();
    }
    named
}

fn diff_line(line: &DiffLine) -> Text {
    let tabs = |text: &str| text.replace('\t', "    ");
    match line {
        DiffLine::From(old, new) => Text::styled(&format!("  @@ -{old} +{new} @@"), QUIET),
        DiffLine::Kept(text) => format!("   {}", tabs(text)).into(),
        DiffLine::Added(text) => Text::styled(&format!("  +{}", tabs(text)), ADDED),
        DiffLine::Removed(text) => Text::styled(&format!("  -{}", tabs(text)), REMOVED),
    }
}

fn resolved(findings: &[Finding]) -> Vec<String> {
    let numbers: Vec<String> = findings
        .iter()
        .map(|finding| format!("#{}", finding.finding_id))
        .collect();
    match numbers.as_slice() {
        [] => Vec::new(),
        [one] => vec![format!("finding {one} resolved")],
        [all @ .., last] => vec![format!("findings {} and {last} resolved", all.join(", "))],
    }
}

fn open_finding(finding: &Finding) -> Text {
    text![
        &format!("Finding #{}  ", finding.finding_id),
        status("open"),
        &format!(
            ", {}, {}: {}",
            finding.severity.as_str(),
            finding.kind,
            excerpt(&finding.detail)
        )
    ]
}

/// What of a line of a file fits beside its number.
pub fn cut(line: &str, columns: usize) -> String {
    let room = columns.saturating_sub(9).max(10);
    let line = ghyll::text::clean(&line.replace('\t', "    "));
    match line.char_indices().nth(room) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests;
