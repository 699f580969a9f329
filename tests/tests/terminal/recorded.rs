//! `docs/session.svg`: a session as it is on a screen, recorded from the real
//! binary under a real terminal, and drawn.
//!
//! `GHYLL_WRITE_DOCS=1 cargo test -p ghyll-tests --test terminal recorded`
//! records it anew; without that the test fails when it would look different.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::Command;

use ghyll_tests::runtimes::root;

use super::pane::{COLUMNS, Pane, ghyll};

const SHELL: &str = "$ ";
const GHYLL: &str = "ghyll> ";
const VERDICT: &str = "Verdict [p/f/i/s]: ";
const WHERE: &str = "Where, comma-separated: ";

/// A passage with one look.
type Run = (String, String);

/// The rows of a session on the sample project.
fn recorded() -> Vec<Vec<Run>> {
    let home = tempfile::tempdir().unwrap();
    let shop = home.path().join("shop");
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(root().join("scripts/sample")).arg(&shop);
    assert!(copy.status().unwrap().success());
    // Whatever the binary is called that is tried.
    let programs = home.path().join("bin");
    std::fs::create_dir(&programs).unwrap();
    std::os::unix::fs::symlink(ghyll().canonicalize().unwrap(), programs.join("ghyll")).unwrap();
    let mut pane = Pane::shell(&shop, &programs);
    pane.answer(SHELL, "ghyll run --op-id alice@example.com");
    pane.answer(GHYLL, "/run-arrow A-payment");
    pane.answer(VERDICT, "P src/payment.rs:31-39");
    pane.answer(VERDICT, "f");
    pane.answer(WHERE, "src/payment.rs:36");
    pane.answer(GHYLL, "/exit");
    pane.answer(SHELL, "ghyll check A-payment");
    pane.prompt(SHELL);
    let rows = pane.screen(|screen| {
        let (last, _) = screen.cursor_position();
        (0..last).map(|row| row_of(screen, row)).collect::<Vec<_>>()
    });
    // What ghyll says first names the directory of this very run.
    let first = rows
        .iter()
        .position(|row| text(row).starts_with(GHYLL))
        .unwrap();
    let mut kept = vec![rows[0].clone()];
    kept.extend(rows[first..].iter().cloned());
    kept
}

fn text(row: &[Run]) -> String {
    row.iter().map(|(text, _)| text.as_str()).collect()
}

/// A row in passages of one look each, without what differs from run to run.
fn row_of(screen: &vt100::Screen, row: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..COLUMNS {
        let Some(cell) = screen.cell(row, column) else {
            continue;
        };
        let look = look(cell);
        let contents = match cell.contents() {
            "" => " ",
            contents => contents,
        };
        match runs.last_mut().filter(|(_, last)| *last == look) {
            Some((text, _)) => text.push_str(contents),
            None => runs.push((contents.to_owned(), look)),
        }
    }
    if let Some((text, _)) = runs.last_mut() {
        text.truncate(text.trim_end().len());
    }
    for (text, _) in &mut runs {
        *text = with_one_id(text);
    }
    runs.retain(|(text, _)| !text.is_empty());
    runs
}

/// The classes that draw a cell as the terminal would.
fn look(cell: &vt100::Cell) -> String {
    let mut classes = Vec::new();
    match cell.fgcolor() {
        vt100::Color::Idx(n) => classes.push(format!("c{n}")),
        vt100::Color::Default => {}
        vt100::Color::Rgb(..) => panic!("a colour that no palette has"),
    }
    for (is_so, class) in [
        (cell.bold(), "b"),
        (cell.dim(), "d"),
        (cell.italic(), "i"),
        (cell.underline(), "u"),
    ] {
        if is_so {
            classes.push(class.to_owned());
        }
    }
    classes.join(" ")
}

/// Ids and digests differ from run to run; these are always the same.
fn with_one_id(text: &str) -> String {
    const ID: &str = "019b76da-a801-7838-a582-2a6f9e62da21";
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_hexdigit() || c == '-' {
            word.push(c);
            continue;
        }
        let digits = word.bytes().any(|b| b.is_ascii_digit());
        match word.len() >= 8 && digits {
            true => out.extend(ID.chars().cycle().take(word.len())),
            false => out.push_str(&word),
        }
        word.clear();
        out.push(c);
    }
    out.trim_end_matches('\n').to_owned()
}

/// What a column and a row take, in pixels; and the frame around all.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 19.0;
const MARGIN: f64 = 18.0;

/// Foregrounds by class, on a light and on a dark ground.
const PALETTE: [(&str, &str, &str); 13] = [
    ("c1", "#b3261e", "#ff8a80"),
    ("c2", "#1a7f37", "#7ee787"),
    ("c3", "#8a5a00", "#e3b341"),
    ("c4", "#0b57d0", "#79b8ff"),
    ("c5", "#8250df", "#d2a8ff"),
    ("c6", "#0a7078", "#76e3ea"),
    ("c7", "#57606a", "#b1bac4"),
    ("c8", "#6e7781", "#8b949e"),
    ("c9", "#b3261e", "#ff8a80"),
    ("c10", "#1a7f37", "#7ee787"),
    ("c11", "#8a5a00", "#e3b341"),
    ("c12", "#0b57d0", "#79b8ff"),
    ("d", "#6e7781", "#8b949e"),
];

fn svg(rows: &[Vec<Run>]) -> String {
    let width = f64::from(COLUMNS) * WIDTH + 2.0 * MARGIN;
    let height = rows.len() as f64 * HEIGHT + 2.0 * MARGIN;
    let used: BTreeSet<&str> = rows
        .iter()
        .flatten()
        .flat_map(|(_, look)| look.split(' '))
        .collect();
    let colours = |dark: bool| {
        let mut css = String::new();
        for (class, on_light, on_dark) in PALETTE {
            if used.contains(class) {
                let colour = if dark { on_dark } else { on_light };
                let _ = write!(css, ".{class}{{fill:{colour}}}");
            }
        }
        css
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" xml:space=\"preserve\">\n\
         <title>A session: alice passes one clause of A-payment and fails another, and the \
         gate says no</title>\n<style>\n\
         text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;\
         white-space:pre;fill:#1f2328}}\n\
         rect{{fill:#f6f8fa;stroke:#d0d7de}}\n\
         .b{{font-weight:bold}}.i{{font-style:italic}}.u{{text-decoration:underline}}\n{}\n\
         @media(prefers-color-scheme:dark){{text{{fill:#e6edf3}}\
         rect{{fill:#0d1117;stroke:#30363d}}{}}}\n</style>\n\
         <rect x=\".5\" y=\".5\" width=\"{:.0}\" height=\"{:.0}\" rx=\"8\"/>\n",
        colours(false),
        colours(true),
        width - 1.0,
        height - 1.0,
    );
    for (at, row) in rows.iter().enumerate() {
        let y = MARGIN + at as f64 * HEIGHT + 14.0;
        let mut column = 0;
        for (text, look) in row {
            let columns = text.chars().count();
            // Blanks are no ink, and not stretched.
            let before = columns - text.trim_start().chars().count();
            let shown = text.trim();
            if !shown.is_empty() {
                let x = MARGIN + (column + before) as f64 * WIDTH;
                let length = shown.chars().count() as f64 * WIDTH;
                let class = match look.as_str() {
                    "" => String::new(),
                    look => format!(" class=\"{look}\""),
                };
                let _ = writeln!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{y:.0}\" textLength=\"{length:.1}\"{class}>{}</text>",
                    escaped(shown)
                );
            }
            column += columns;
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[test]
fn the_recorded_session_is_what_a_session_looks_like() {
    let file = root().join("docs/session.svg");
    let drawn = svg(&recorded());
    if std::env::var_os("GHYLL_WRITE_DOCS").is_some() {
        std::fs::write(&file, &drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == drawn,
        "docs/session.svg is behind: GHYLL_WRITE_DOCS=1 cargo test -p ghyll-tests --test terminal \
         recorded\n{drawn}"
    );
}

#[test]
fn what_is_drawn_stands_where_it_stood_on_the_screen() {
    let mut parser = vt100::Parser::new(3, COLUMNS, 0);
    parser.process(
        b"a \x1b[1mbold\x1b[0m <x>\r\n\x1b[31mred\x1b[0m 019b76da-a801-7838-a582-2a6f9e62da22",
    );
    let rows: Vec<_> = (0..2).map(|row| row_of(parser.screen(), row)).collect();
    assert_eq!(text(&rows[0]), "a bold <x>");
    assert!(text(&rows[1]).ends_with("da21"));
    let drawn = svg(&rows);
    assert!(
        drawn.contains(r#"<text x="34.8" y="32" textLength="33.6" class="b">bold</text>"#),
        "{drawn}"
    );
    assert!(
        drawn.contains("&lt;x&gt;</text>") && drawn.contains(".c1{fill:#b3261e}"),
        "{drawn}"
    );
    assert!(!drawn.contains(".c2"));
}
