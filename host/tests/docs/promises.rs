//! Each promise of `SECURITY.md` and `docs/trust.md` names what shows it, and
//! that exists: `` `path.rs`: `test` `` or `` `path.feature`: *Scenario* ``.

use super::document::{heading_of, prose, read, root};

/// What a document names as shown by a test: the file, and what in it.
fn named(text: &str) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    // A name may stand on the line behind its file's.
    let text: Vec<(usize, &str)> = prose(text).collect();
    let joined: String = text.iter().map(|(_, line)| format!("{line}\n")).collect();
    let line_of = |at: usize| text[joined[..at].matches('\n').count()].0;
    for (ends, quote) in [(".rs`:", '`'), (".feature`:", '*')] {
        for (at, _) in joined.match_indices(ends) {
            let path = joined[..at].rsplit('`').next().unwrap();
            let path = format!("{path}{}", ends.trim_end_matches("`:"));
            let mut rest = joined[at + ends.len()..].trim_start();
            let mut any = false;
            while let Some((name, behind)) =
                rest.strip_prefix(quote).and_then(|r| r.split_once(quote))
            {
                any = true;
                let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
                found.push((line_of(at), path.clone(), name));
                // Several of one file are separated by commas.
                rest = behind.strip_prefix(',').unwrap_or("").trim_start();
            }
            assert!(any, "line {}: {path} without a test", line_of(at));
        }
    }
    found
}

/// Whether a source has a test or a scenario of that name.
fn has(source: &str, name: &str) -> bool {
    let scenario = |line: &str| {
        let said = line.trim().strip_prefix("Scenario");
        let said = said.map(|said| said.strip_prefix(" Outline").unwrap_or(said));
        said.and_then(|said| said.strip_prefix(": ")) == Some(name)
    };
    if source.lines().any(scenario) {
        return true;
    }
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let function = format!("fn {name}(");
    lines.iter().enumerate().any(|(at, line)| {
        // Right behind its attributes; proptest's stand within a macro.
        line.starts_with(&function)
            && lines[..at]
                .iter()
                .rev()
                .take_while(|line| line.starts_with('#') || line.starts_with("//"))
                .any(|line| line.starts_with("#[test]"))
    })
}

fn check(document: &str) {
    let text = read(document);
    let named = named(&text);
    assert!(
        named.len() > 10,
        "{document}: only {} tests are named",
        named.len()
    );
    let gone: Vec<String> = named
        .iter()
        .filter(|(_, path, name)| {
            let source = std::fs::read_to_string(root().join(path)).unwrap_or_default();
            !has(&source, name)
        })
        .map(|(line, path, name)| format!("{document}:{line}: {path} has no {name}"))
        .collect();
    assert!(gone.is_empty(), "{}", gone.join("\n"));
}

#[test]
fn every_test_that_security_names_exists() {
    check("SECURITY.md");
}

#[test]
fn every_test_that_the_trust_model_names_exists() {
    check("docs/trust.md");
}

#[test]
fn every_promise_of_security_names_its_test() {
    let text = read("SECURITY.md");
    // A section of promises is a list of them; each goes on to the next.
    let mut heading = "";
    let mut promises: Vec<(usize, String)> = Vec::new();
    for (line, said) in prose(&text) {
        if let Some(said) = heading_of(said) {
            heading = said;
        } else if !heading.starts_with("What is ") || heading.contains(" not ") {
            // Nothing is promised there.
        } else if said.starts_with("- ") {
            promises.push((line, said.to_owned()));
        } else if let Some((_, promise)) = promises.last_mut().filter(|_| said.starts_with("  ")) {
            promise.push_str(said);
        }
    }
    assert!(promises.len() > 10, "only {} promises", promises.len());
    for (line, promise) in promises {
        let shown = promise.contains(".rs`:") || promise.contains(".feature`:");
        assert!(shown, "SECURITY.md:{line}: nothing shows that {promise}");
    }
}

#[test]
fn a_test_that_is_gone_is_noticed() {
    let text = "- One (`a/b.rs`: `one`,\n  `two_three`).\n- Two (`c.feature`: *It is\n  so*)\n";
    let found: Vec<_> = named(text)
        .into_iter()
        .map(|(line, path, name)| format!("{line} {path} {name}"))
        .collect();
    assert_eq!(
        found,
        ["1 a/b.rs one", "1 a/b.rs two_three", "3 c.feature It is so"]
    );
    let source =
        "#[cfg(unix)]\n#[test]\nfn one() {}\nfn helper() {}\n  Scenario Outline: It is so\n";
    assert!(has(source, "one") && has(source, "It is so"));
    assert!(!has(source, "helper") && !has(source, "on") && !has(source, "It is"));
}
