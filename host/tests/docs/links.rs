//! Every link from a document into the repository leads somewhere.

use super::document::{all, anchors, prose, read, root};

/// The targets of the links in a line, inline code left out.
fn targets(line: &str) -> Vec<&str> {
    let outside = line.split('`').step_by(2);
    outside
        .flat_map(|piece| piece.split("](").skip(1))
        .filter_map(|rest| rest.split(')').next())
        .collect()
}

/// What is wrong with a link in a document.
fn fault(document: &str, target: &str) -> Option<String> {
    if ["http://", "https://", "mailto:"]
        .iter()
        .any(|p| target.starts_with(p))
    {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let beside = std::path::Path::new(document).parent().unwrap();
    let file = match path {
        "" => document.into(),
        path => beside.join(path),
    };
    if !root().join(&file).exists() {
        return Some(format!("there is no {}", file.display()));
    }
    if anchor.is_empty()
        || anchors(&read(file.to_str().unwrap()))
            .iter()
            .any(|a| a == anchor)
    {
        return None;
    }
    Some(format!("{} has no heading #{anchor}", file.display()))
}

#[test]
fn every_link_into_the_repository_leads_somewhere() {
    let mut checked = 0;
    let mut faults = Vec::new();
    for document in all() {
        let text = read(&document);
        for (line, said) in prose(&text) {
            for target in targets(said) {
                checked += 1;
                let fault = fault(&document, target);
                faults.extend(fault.map(|fault| format!("{document}:{line}: {target}: {fault}")));
            }
        }
    }
    assert!(checked > 20, "only {checked} links were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_link_that_leads_nowhere_is_noticed() {
    let line = "See [`x`](docs/none.md) and `[no](link.md)`, [up](README.md#nowhere) or [a](ok).";
    assert_eq!(targets(line), ["docs/none.md", "README.md#nowhere", "ok"]);
    assert!(fault("README.md", "docs/none.md").is_some());
    assert!(fault("README.md", "docs/grid.md#nowhere").is_some());
    assert!(fault("docs/git.md", "../README.md").is_none());
    assert!(fault("docs/git.md", "grid.md#an-arrow").is_none());
}

#[test]
fn the_readme_lists_every_document() {
    let readme = read("README.md");
    let unlisted: Vec<String> = all()
        .into_iter()
        .filter(|document| document.starts_with("docs/") || !document.contains('/'))
        .filter(|document| document != "README.md")
        .filter(|document| !readme.contains(&format!("]({document})")))
        .collect();
    assert!(unlisted.is_empty(), "{unlisted:?}");
}
