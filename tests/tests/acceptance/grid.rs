//! The grid a scenario speaks of, and how it becomes a file.

use std::fmt::Write as _;
use std::fs;

use cucumber::gherkin::Step;
use cucumber::{given, then, when};

use crate::scene::Scene;

/// A grid in the making.
#[derive(Debug, Clone, Default)]
pub struct GridSketch {
    /// `key: value` lines as the operator typed them, right or wrong.
    pub settings: Vec<(String, String)>,
    pub arrows: Vec<ArrowSketch>,
}

#[derive(Debug, Clone)]
pub struct ArrowSketch {
    pub id: String,
    pub source: String,
    pub target: String,
    pub adversary: String,
    pub context: String,
    pub stratum: String,
    pub clauses: Vec<ClauseSketch>,
}

#[derive(Debug, Clone)]
pub struct ClauseSketch {
    pub id: String,
    pub concept: String,
    /// A command, and the seconds it may take, for a machine clause.
    pub run: Option<(Vec<String>, u32)>,
}

impl ArrowSketch {
    pub fn new(id: &str, clauses: &str) -> Self {
        let clauses = names(clauses).map(|id| ClauseSketch {
            concept: format!("what {id} claims"),
            id,
            run: None,
        });
        Self {
            id: id.to_owned(),
            source: "analyst".to_owned(),
            target: "architect".to_owned(),
            adversary: String::new(),
            context: "checkout".to_owned(),
            stratum: "behaviour".to_owned(),
            clauses: clauses.collect(),
        }
    }
}

/// `C1, C2 and C3`, taken apart.
pub fn names(list: &str) -> impl Iterator<Item = String> {
    list.replace(" and ", ",")
        .split(',')
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect::<Vec<_>>()
        .into_iter()
}

impl GridSketch {
    pub fn arrow(&mut self, id: &str) -> &mut ArrowSketch {
        self.arrows
            .iter_mut()
            .find(|arrow| arrow.id == id)
            .expect("an arrow of the scenario")
    }

    pub fn clause(&mut self, arrow: &str, id: &str) -> &mut ClauseSketch {
        let clauses = &mut self.arrow(arrow).clauses;
        clauses
            .iter_mut()
            .find(|clause| clause.id == id)
            .expect("a clause of the scenario")
    }

    /// The file. Text is quoted as JSON does it, which YAML reads.
    pub fn yaml(&self, version: u64) -> String {
        let quoted = |text: &str| serde_json::to_string(text).unwrap();
        let mut yaml = format!("version: {version}\n");
        for (key, value) in &self.settings {
            writeln!(yaml, "{key}: {value}").unwrap();
        }
        yaml.push_str("arrows:\n");
        for arrow in &self.arrows {
            writeln!(yaml, "  - id: {}", quoted(&arrow.id)).unwrap();
            let fields = [
                ("source-role", &arrow.source),
                ("target-role", &arrow.target),
                ("adversary-role", &arrow.adversary),
                ("context", &arrow.context),
                ("stratum", &arrow.stratum),
            ];
            for (key, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
                writeln!(yaml, "    {key}: {}", quoted(value)).unwrap();
            }
            yaml.push_str("    clauses:\n");
            for clause in &arrow.clauses {
                writeln!(yaml, "      - id: {}", quoted(&clause.id)).unwrap();
                writeln!(yaml, "        concept: {}", quoted(&clause.concept)).unwrap();
                match &clause.run {
                    None => yaml.push_str("        eval: attested\n"),
                    Some((argv, seconds)) => {
                        let argv = serde_json::to_string(argv).unwrap();
                        writeln!(yaml, "        eval: machine\n        run: {argv}").unwrap();
                        writeln!(yaml, "        timeout-s: {seconds}").unwrap();
                    }
                }
            }
        }
        yaml
    }
}

#[given(expr = "the file {string}:")]
#[when(expr = "the file {string} becomes:")]
fn file(scene: &mut Scene, name: String, step: &Step) {
    let text = step.docstring.as_ref().expect("what is in it");
    let path = scene.root().join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("its directory");
    fs::write(path, text.trim_start_matches('\n')).expect("the file");
}

#[then(expr = "the file {string} is:")]
fn file_is(scene: &mut Scene, name: String, step: &Step) {
    let text = step.docstring.as_ref().expect("what is in it");
    let found = fs::read_to_string(scene.root().join(name)).expect("the file");
    assert_eq!(found, text.trim_start_matches('\n'));
}

#[then(expr = "there is no file {string}")]
fn no_file(scene: &mut Scene, name: String) {
    assert!(!scene.root().join(name).exists());
}

#[then("it prints these lines:")]
fn prints_lines(scene: &mut Scene, step: &Step) {
    let (_, out, err) = scene.said.as_ref().expect("a run");
    let expected = step.docstring.as_ref().expect("the lines");
    let lines = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty())
            .collect()
    };
    assert_eq!(lines(out), lines(expected), "{err}");
}

#[given("the pointer ends its line the other way")]
fn pointer_with_crlf(scene: &mut Scene) {
    let pointer = scene.ghyll("grid.current");
    let text = fs::read_to_string(&pointer).expect("the pointer");
    fs::write(pointer, text.replace('\n', "\r\n")).expect("the pointer");
}
