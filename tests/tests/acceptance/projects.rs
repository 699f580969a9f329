//! Given: projects, grids, and who sits at the desk.

use cucumber::gherkin::Step;
use cucumber::{given, when};

use crate::desk::text;
use crate::grid::{ArrowSketch, ClauseSketch};
use crate::scene::Scene;

#[given(expr = "a project with the arrow {string} over the clauses {string}")]
#[given(expr = "another arrow {string} over the clauses {string}")]
fn an_arrow(scene: &mut Scene, arrow: String, clauses: String) {
    scene
        .grid
        .arrows
        .push(ArrowSketch::new(&text(&arrow), &clauses));
}

#[when(expr = "the next grid adds the arrow {string} over the clauses {string}, in {string}")]
fn grid_adds(scene: &mut Scene, arrow: String, clauses: String, context: String) {
    an_arrow(scene, arrow.clone(), clauses);
    in_context(scene, arrow, context);
}

#[given(expr = "the arrow {string} leads from {string} to {string} in {string}, stratum {string}")]
fn leads(
    scene: &mut Scene,
    arrow: String,
    source: String,
    target: String,
    context: String,
    stratum: String,
) {
    let arrow = scene.grid.arrow(&arrow);
    arrow.source = text(&source);
    arrow.target = text(&target);
    arrow.context = text(&context);
    arrow.stratum = text(&stratum);
}

#[given(expr = "the arrow {string} is in the context {string}")]
fn in_context(scene: &mut Scene, arrow: String, context: String) {
    scene.grid.arrow(&arrow).context = text(&context);
}

#[given(expr = "{string} doubts the work on {string}")]
fn adversary(scene: &mut Scene, role: String, arrow: String) {
    scene.grid.arrow(&arrow).adversary = role;
}

#[given(regex = r"^the clause (\S+) of (\S+) is decided by this command, within (\d+) s:$")]
fn machine(scene: &mut Scene, clause: String, arrow: String, seconds: u32, step: &Step) {
    let line = step
        .docstring
        .as_ref()
        .expect("a command")
        .trim()
        .to_owned();
    let argv = ["sh".to_owned(), "-c".to_owned(), line];
    scene.grid.clause(&arrow, &clause).run = Some((argv.to_vec(), seconds));
}

#[given(regex = r#"^the grid says "([\w-]+): (.*)"$"#)]
#[when(regex = r#"^the next grid says "([\w-]+): (.*)"$"#)]
fn setting(scene: &mut Scene, key: String, value: String) {
    scene.grid.settings.push((key, value));
}

/// Ten arrows `A1` … `A10`, each in a context of its own.
#[given(regex = r#"^a project with (\d+) arrows over the clause "(\S+)"$"#)]
fn many_arrows(scene: &mut Scene, count: u32, clause: String) {
    for n in 1..=count {
        let mut arrow = ArrowSketch::new(&format!("A{n}"), &clause);
        arrow.context = format!("context-{n}");
        scene.grid.arrows.push(arrow);
    }
}

#[given(regex = r#"^the project has the arrow "(\S+)" over (\d+) clauses$"#)]
fn many_clauses(scene: &mut Scene, arrow: String, count: u32) {
    let mut sketch = ArrowSketch::new(&arrow, "");
    sketch.clauses = (1..=count)
        .map(|n| ClauseSketch {
            id: format!("C{n}"),
            concept: format!("claim {n}"),
            run: None,
        })
        .collect();
    scene.grid.arrows.push(sketch);
}

#[given(expr = "{string} is at the desk")]
fn at_the_desk(scene: &mut Scene, op_id: String) {
    assert!(scene.running().is_none(), "before the session starts");
    scene.op_id = Some(text(&op_id));
}
