//! What a line can be completed with.

use std::path::PathBuf;

use super::Topic;
use ghyll::text::clean;

/// What the arguments of a command are completed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completes {
    /// Nothing.
    Nothing,
    /// The id of an arrow.
    Arrow,
    /// A ref, a verdict, then flags and places.
    Attest,
    /// Who answered for anything here, or `clear`.
    Person,
}

/// A command to complete.
#[derive(Debug, Clone, Copy)]
pub struct Offered {
    /// Its name, with its slash.
    pub name: &'static str,
    /// What its arguments are completed with.
    pub completes: Completes,
}

/// The words there are to complete with.
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    /// Slash commands.
    pub commands: Vec<Offered>,
    /// Arrow ids.
    pub arrows: Vec<String>,
    /// Attestation refs.
    pub refs: Vec<String>,
    /// Who answered for anything.
    pub people: Vec<String>,
    /// Where locations are looked for.
    pub root: PathBuf,
}

/// Every verdict there is, as `/attest` takes it.
const VERDICTS: [&str; 5] = [
    "pass",
    "fail",
    "insufficient-basis",
    "accepted-risk",
    "route-upstream",
];
/// What a verdict modal takes.
const ANSWERS: [&str; 4] = ["pass", "fail", "insufficient-basis", "skip"];
/// The most names of one directory that are offered.
const NAMES_MAX: usize = 1000;

impl Candidates {
    /// What the word that ends `line` can become: where it starts, and the
    /// words.
    pub fn complete(&self, topic: Topic, line: &str) -> (usize, Vec<String>) {
        if line.starts_with('/') {
            return self.complete_command(line);
        }
        match topic {
            Topic::Verdict => {
                let typed = line.trim_start();
                (
                    line.len() - typed.len(),
                    starting(&typed.to_lowercase(), ANSWERS),
                )
            }
            Topic::Locations => {
                let start = line.rfind(',').map_or(0, |at| at + 1);
                let (_, word) = line.split_at(start);
                let typed = word.trim_start();
                (line.len() - typed.len(), self.files(typed))
            }
            Topic::Turn | Topic::Note | Topic::Choice => (line.len(), Vec::new()),
        }
    }

    fn complete_command(&self, line: &str) -> (usize, Vec<String>) {
        let start = line.rfind(' ').map_or(0, |at| at + 1);
        let (before, word) = line.split_at(start);
        let mut words = before.split_whitespace();
        let (command, arguments) = (words.next(), words.count());
        let Some(command) = command else {
            return (start, starting(word, self.commands.iter().map(|c| c.name)));
        };
        let completes = self
            .commands
            .iter()
            .find(|offered| offered.name == command)
            .map_or(Completes::Nothing, |offered| offered.completes);
        let found = match (completes, arguments) {
            (Completes::Arrow, 0) => starting(word, self.arrows.iter().map(String::as_str)),
            (Completes::Person, 0) => {
                let people = self.people.iter().map(String::as_str);
                starting(word, people.chain(["clear"]))
            }
            (Completes::Attest, 0) => starting(word, self.refs.iter().map(String::as_str)),
            (Completes::Attest, 1) => starting(word, VERDICTS),
            (Completes::Attest, _) if before.trim_end().ends_with("--inspected") => {
                self.files(word)
            }
            (Completes::Attest, _) => starting(word, ["--inspected", "--residue"]),
            _ => Vec::new(),
        };
        (start, found)
    }

    /// Files and directories of the project whose path starts with `typed`.
    fn files(&self, typed: &str) -> Vec<String> {
        let (directory, name) = typed.rsplit_once('/').map_or(("", typed), |(d, n)| (d, n));
        let within = if typed.starts_with('/') && directory.is_empty() {
            "/"
        } else {
            directory
        };
        let Ok(entries) = std::fs::read_dir(self.root.join(within)) else {
            return Vec::new();
        };
        let mut found: Vec<String> = entries
            .flatten()
            .take(NAMES_MAX)
            .filter_map(|entry| {
                let file = entry.file_name().into_string().ok()?;
                // A name that cannot be shown as it is cannot be offered.
                let fits = file.starts_with(name) && clean(&file) == file;
                let hidden = file.starts_with('.') && !name.starts_with('.');
                let end = if entry.path().is_dir() { "/" } else { "" };
                let before = if directory.is_empty() && !typed.starts_with('/') {
                    String::new()
                } else {
                    format!("{directory}/")
                };
                (fits && !hidden).then(|| format!("{before}{file}{end}"))
            })
            .collect();
        found.sort();
        found
    }
}

fn starting<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    words
        .into_iter()
        .filter(|w| w.starts_with(word))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(root: PathBuf) -> Candidates {
        let own = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
        Candidates {
            commands: [
                ("/attest", Completes::Attest),
                ("/attestations", Completes::Arrow),
                ("/run-arrow", Completes::Arrow),
                ("/op-id", Completes::Person),
            ]
            .map(|(name, completes)| Offered { name, completes })
            .into(),
            arrows: own(&["A-checkout", "A-refund"]),
            refs: own(&["att-A-checkout-C1-v1"]),
            people: own(&["alice@example.com", "bob"]),
            root,
        }
    }

    #[test]
    fn commands_and_their_arguments_are_completed_at_any_question() {
        let c = candidates(PathBuf::from("."));
        assert_eq!(
            c.complete(Topic::Turn, "/att"),
            (0, vec!["/attest".into(), "/attestations".into()])
        );
        assert_eq!(
            c.complete(Topic::Note, "/run-arrow A-r"),
            (11, vec!["A-refund".into()])
        );
        assert_eq!(
            c.complete(Topic::Turn, "/attest a").1,
            ["att-A-checkout-C1-v1"]
        );
        assert_eq!(
            c.complete(Topic::Turn, "/attest att-x i").1,
            ["insufficient-basis"]
        );
        assert_eq!(
            c.complete(Topic::Turn, "/op-id ali").1,
            ["alice@example.com"]
        );
        assert_eq!(c.complete(Topic::Turn, "/op-id cl").1, ["clear"]);
        assert_eq!(c.complete(Topic::Verdict, "I").1, ["insufficient-basis"]);
        assert_eq!(c.complete(Topic::Note, "p").1, Vec::<String>::new());
    }

    #[test]
    fn locations_are_completed_from_the_project_the_last_of_them_only() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("src")).unwrap();
        std::fs::write(dir.path().join("src/cart.rs"), "").unwrap();
        std::fs::write(dir.path().join(".hidden"), "").unwrap();
        let c = candidates(dir.path().to_owned());
        assert_eq!(c.complete(Topic::Locations, "s"), (0, vec!["src/".into()]));
        assert_eq!(
            c.complete(Topic::Locations, "a.rs:3, src/c"),
            (8, vec!["src/cart.rs".into()])
        );
        assert_eq!(c.complete(Topic::Locations, "").1, ["src/"]);
    }
}
