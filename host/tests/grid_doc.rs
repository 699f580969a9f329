//! `docs/grid.md` against the parser: every key is explained where it belongs,
//! none is that there is not, and the examples can be meant.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use ghyll::grid::{ARROW, CLAUSE, GRID, Grid, Key, Shape};

fn doc() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/grid.md");
    std::fs::read_to_string(path).unwrap()
}

/// The rows of the table under a heading: key, value, meaning.
fn table(doc: &str, heading: &str) -> Vec<[String; 3]> {
    let section = doc
        .split("\n## ")
        .find(|section| section.lines().next() == Some(heading))
        .unwrap_or_else(|| panic!("no section {heading:?}"));
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let cells: [&str; 3] = cells.try_into().unwrap_or_else(|_| panic!("{row}"));
        cells.map(|cell| cell.trim_matches('`').to_owned())
    })
    .collect()
}

#[test]
fn every_key_is_explained_and_no_other() {
    let doc = doc();
    for (heading, keys) in [
        ("The whole grid", GRID),
        ("An arrow", ARROW),
        ("A clause", CLAUSE),
    ] {
        let rows = table(&doc, heading);
        let explained: BTreeSet<&str> = rows.iter().map(|[key, ..]| key.as_str()).collect();
        let known: BTreeSet<&str> = keys.iter().map(|key| key.name).collect();
        assert_eq!(explained, known, "{heading}");
        for [name, value, meaning] in &rows {
            let key = keys.iter().find(|key| key.name == name).unwrap();
            assert!(meaning.len() > 10, "{name}: {meaning}");
            value_fits(key, value);
        }
    }
}

/// What the table says of a key's value is what the parser holds it to.
fn value_fits(key: &Key, value: &str) {
    let name = key.name;
    match key.shape {
        Shape::Positive { max, default } => {
            if !value.contains("positive integer") {
                assert!(value.contains(&format!("1 to {max}")), "{name}: {value}");
            }
            let said = value.split_once(" if left out").map(|(before, _)| before);
            let said = said.and_then(|before| before.rsplit(' ').next());
            assert_eq!(
                said.map(str::to_owned),
                default.map(|n| n.to_string()),
                "{name}"
            );
        }
        Shape::Word(words) => {
            for word in words {
                assert!(value.contains(word), "{name}: {value}");
            }
        }
        Shape::Id => assert!(value.contains("without whitespace"), "{name}: {value}"),
        Shape::Text => assert!(value.starts_with("text"), "{name}: {value}"),
        Shape::Texts | Shape::Maps(_) => assert!(value.starts_with("list"), "{name}: {value}"),
    }
    let optional = ["left out", "machine clauses only"];
    if !matches!(key.shape, Shape::Positive { .. }) {
        let said = optional.iter().any(|words| value.contains(words));
        assert_eq!(said, !key.required, "{name}: {value}");
    }
}

#[test]
fn the_examples_can_be_meant() {
    let doc = doc();
    let examples: Vec<&str> = doc
        .split("```yaml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(!examples.is_empty());
    for example in &examples {
        Grid::parse(example, 1, Path::new("docs/grid.md")).unwrap();
    }
    // The one that is whole shows every key of an arrow and a clause.
    for key in ARROW.iter().chain(CLAUSE) {
        let shown = examples
            .iter()
            .any(|yaml| yaml.contains(&format!("{}:", key.name)));
        assert!(shown, "{}", key.name);
    }
}

#[test]
fn what_init_writes_can_be_meant_and_named_by_the_schema() {
    let skeleton = ghyll::grid::SKELETON;
    let first = skeleton.lines().next().unwrap();
    assert_eq!(
        first,
        format!(
            "# yaml-language-server: $schema=./{}",
            ghyll::grid::SCHEMA_FILE
        )
    );
    let grid = Grid::parse(skeleton, 1, Path::new("grid.v1.yaml")).unwrap();
    assert_eq!(grid.arrows.len(), 1);
    // And with all that is in comments.
    let keys = |line: &str| {
        line.trim_start().starts_with("# ") && line.contains(": ")
            || line.trim_start().starts_with("# -")
    };
    let (head, body) = skeleton.split_once("\narrows:").unwrap();
    let whole: Vec<String> = body
        .lines()
        .map(|line| match line.split_once("# ") {
            Some((indent, rest))
                if keys(line) && indent.trim().is_empty() && !rest.ends_with('.') =>
            {
                format!("{indent}{rest}")
            }
            _ => line.to_owned(),
        })
        .collect();
    let whole = format!("{head}\narrows:{}", whole.join("\n"));
    let grid = Grid::parse(&whole, 1, Path::new("grid.v1.yaml"))
        .unwrap_or_else(|e| panic!("{e}\n{whole}"));
    assert!(grid.arrows[0].adversary_role.is_some());
    assert!(!grid.arrows[0].covers.is_empty());
    assert_eq!(grid.arrows[0].clauses.len(), 2);
}
