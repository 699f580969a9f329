use super::super::error::is_invisible;
use super::*;

/// The smallest valid grid; tests change or add lines.
const VALID: &str = "\
arrows:
  - id: A
    source-role: analyst
    target-role: architect
    stratum: 1
    context: shop
    clauses:
      - id: C1
        concept: The scope is agreed
        eval: attested
";

fn parse(text: &str) -> Result<Grid, GridError> {
    Grid::parse(text, 1, Path::new("grid.v1.yaml"))
}

/// `line:code` of every problem.
fn problems(text: &str) -> Vec<String> {
    match parse(text) {
        Err(GridError::Invalid { problems }) => problems
            .iter()
            .map(|problem| format!("{}:{}", problem.line, problem.code))
            .collect(),
        Err(other) => vec![other.code().to_owned()],
        Ok(_) => vec![],
    }
}

/// [`VALID`] with one line, counted from 1, put in place of another.
fn with_line(number: usize, line: &str) -> String {
    let mut lines: Vec<&str> = VALID.lines().collect();
    lines[number - 1] = line;
    lines.join("\n")
}

#[test]
fn everything_a_grid_can_say_is_read() {
    let text = r#"
version: 1
insufficient-basis-rounds-max: 5
residue-note-max-bytes: 1048576
modal-pending-max-len: +8
arrows:
  - id: 7
    source-role: analyst
    target-role: Größe
    adversary-role: "critic"
    stratum: 1.10
    context: "a/b"
    covers: [src/**, "!src/gen/**"]
    clauses:
      - {id: C-1, concept: 'tests "pass"', eval: machine, run: [test, -f, 1, true, ""], timeout-s: 5}
      - id: C2
        concept: built
        eval: machine
        run: [make]
      - id: C3
        concept: reviewed
        eval: attested
        depth: 2
        min-tier: 010
        covers:
          - "*.md"
  - {id: B, source-role: architect, target-role: dev, adversary-role: ~, stratum: x, context: c,
     clauses: [{id: C3, concept: reviewed, eval: attested}]}
"#;
    let grid = parse(text).unwrap();
    let machine = |id: &str, concept: &str, run: &[&str], seconds| Clause {
        id: id.into(),
        concept: concept.into(),
        eval: Eval::Machine {
            run: run.iter().map(ToString::to_string).collect(),
            timeout: Duration::from_secs(seconds),
        },
        covers: None,
        depth: None,
        min_tier: None,
    };
    let attested = |covers: Option<&str>, depth: Option<&str>, min_tier| Clause {
        id: "C3".into(),
        concept: "reviewed".into(),
        eval: Eval::Attested,
        covers: covers.map(|glob| vec![glob.to_owned()]),
        depth: depth.map(Into::into),
        min_tier,
    };
    let expected = Grid {
        version: 1,
        settings: Settings {
            insufficient_basis_rounds_max: 5,
            residue_note_max_bytes: 1_048_576,
            modal_pending_max_len: 8,
        },
        arrows: vec![
            Arrow {
                id: "7".into(),
                source_role: "analyst".into(),
                target_role: "Größe".into(),
                adversary_role: Some("critic".into()),
                stratum: "1.10".into(),
                context: "a/b".into(),
                covers: vec!["src/**".into(), "!src/gen/**".into()],
                clauses: vec![
                    machine("C-1", "tests \"pass\"", &["test", "-f", "1", "true", ""], 5),
                    machine("C2", "built", &["make"], 60),
                    attested(Some("*.md"), Some("2"), Some(10)),
                ],
            },
            Arrow {
                id: "B".into(),
                source_role: "architect".into(),
                target_role: "dev".into(),
                adversary_role: None,
                stratum: "x".into(),
                context: "c".into(),
                covers: vec![],
                clauses: vec![attested(None, None, None)],
            },
        ],
    };
    assert_eq!(grid, expected);
    assert_eq!(grid.arrow("B"), Some(&expected.arrows[1]));
    assert_eq!(grid.arrow("b"), None);
    let covers = |arrow: usize, clause: usize| {
        let arrow = &grid.arrows[arrow];
        arrow.covers_of(&arrow.clauses[clause])
    };
    assert_eq!(covers(0, 0), ["src/**", "!src/gen/**"]);
    assert_eq!(covers(0, 2), ["*.md"]);
    assert!(covers(1, 0).is_empty());
}

#[test]
fn settings_left_out_have_their_defaults() {
    let settings = parse(VALID).unwrap().settings;
    assert_eq!(
        (
            settings.insufficient_basis_rounds_max,
            settings.residue_note_max_bytes,
            settings.modal_pending_max_len
        ),
        (3, 16384, 64)
    );
}

#[test]
fn integers_are_integers() {
    let keys = [
        "insufficient-basis-rounds-max",
        "residue-note-max-bytes",
        "modal-pending-max-len",
        "version",
        "timeout-s",
    ];
    let cases = [
        ("3.0", "must-be-integer"),
        ("2.5", "must-be-integer"),
        ("1e2", "must-be-integer"),
        ("0x10", "must-be-integer"),
        ("1_000", "must-be-integer"),
        (".inf", "must-be-integer"),
        ("\"3\"", "must-be-integer"),
        ("'3'", "must-be-integer"),
        ("three", "must-be-integer"),
        ("true", "must-be-integer"),
        ("null", "must-be-integer"),
        ("~", "must-be-integer"),
        ("", "must-be-integer"),
        ("-", "must-be-integer"),
        ("[3]", "must-be-integer"),
        ("{a: 3}", "must-be-integer"),
        ("３", "must-be-integer"),
        ("0", "must-be-positive"),
        ("-0", "must-be-positive"),
        ("000", "must-be-positive"),
        ("-3", "must-be-positive"),
        ("-99999999999999999999999", "must-be-positive"),
        ("99999999999999999999999", "too-large"),
    ];
    for key in keys {
        for (value, ending) in cases {
            // "- " alone would open a list.
            let (text, line) = if key == "timeout-s" {
                let clause =
                    format!("        eval: machine\n        run: [x]\n        {key}: {value}");
                (with_line(10, &clause), 12)
            } else {
                (format!("{VALID}{key}: {value}\n"), 11)
            };
            if value == "-" {
                assert!(problems(&text)[0].starts_with(&line.to_string()), "{text}");
                continue;
            }
            assert_eq!(
                problems(&text),
                [format!("{line}:{key}-{ending}")],
                "{text}"
            );
        }
    }
    let note = |bytes| problems(&format!("{VALID}residue-note-max-bytes: {bytes}\n"));
    assert_eq!(note(1_048_577), ["11:residue-note-max-bytes-too-large"]);
    let version = |n: u64| {
        let text = format!("{VALID}version: {n}\n");
        Grid::parse(&text, n, Path::new("g")).map_err(|error| error.code())
    };
    assert!(version(10_001).is_ok() && version(MAX_VERSION).is_ok());
    assert_eq!(version(MAX_VERSION + 1), Err("version-too-large"));
    let rounds = |max: u64| problems(&format!("{VALID}insufficient-basis-rounds-max: {max}\n"));
    assert!(rounds(u64::from(u32::MAX)).is_empty());
    assert_eq!(
        rounds(1 << 32),
        ["11:insufficient-basis-rounds-max-too-large"]
    );
}

#[test]
fn one_wrong_line_is_one_problem_on_that_line() {
    for (line, text, code) in [
        (2, "  - id: ", "grid-field-missing"),
        (2, "  - id: ''", "grid-field-blank"),
        (2, "  - id: a b", "grid-id-invalid"),
        (2, "  - id: \"a\\tb\"", "grid-id-invalid-characters"),
        (2, "  - id: \"a\\u202Eb\"", "grid-id-invalid-characters"),
        (2, "  - id: \"A-x\\uFFF9\"", "grid-id-invalid-characters"),
        (2, "  - id: \"A\\uFE0F\"", "grid-id-invalid-characters"),
        (2, "  - id: true", "grid-field-must-be-text"),
        (2, "  - id: [A]", "grid-field-must-be-text"),
        (3, "    source-role: '  '", "grid-field-blank"),
        (3, "    source-role: a__b", "grid-role-invalid"),
        (
            3,
            "    source-role: \"a\\u001bb\"",
            "grid-id-invalid-characters",
        ),
        (
            3,
            "    source-role: \"a\\u200Bb\"",
            "grid-id-invalid-characters",
        ),
        (5, "    stratum: \"1\\u3164\"", "grid-id-invalid-characters"),
        (
            6,
            "    context: \"\\u00ADshop\"",
            "grid-id-invalid-characters",
        ),
        (6, "    context: Init", "grid-path-collision"),
        (5, "    stratum: INIT", "grid-path-collision"),
        (8, "      - id: \"C\\u2066\"", "grid-id-invalid-characters"),
        (3, "    source-role: operator", "grid-role-reserved"),
        (3, "    source-role: Init", "grid-role-reserved"),
        (3, "    source-role: null", "grid-field-missing"),
        (4, "    target-role: OPERATOR", "grid-role-reserved"),
        (4, "    target-role: init", "grid-role-reserved"),
        (4, "    target-role: Analyst", "grid-roles-equal"),
        (5, "    stratum:", "grid-field-missing"),
        (5, "    stratum: {a: 1}", "grid-field-must-be-text"),
        (6, "    context: ''", "grid-field-blank"),
        (6, "    context: no_such: thing", "grid-yaml-syntax"),
        (7, "    clausses:", "grid-key-unknown"),
        (8, "      - id: 'C 1'", "grid-id-invalid"),
        (9, "        concept: ''", "grid-field-blank"),
        (9, "        concept: false", "grid-field-must-be-text"),
        (10, "        eval: human", "grid-clause-eval-invalid"),
        (10, "        eval: Attested", "grid-clause-eval-invalid"),
        (10, "        eval:", "grid-field-missing"),
    ] {
        let found = problems(&with_line(line, text));
        if code == "grid-key-unknown" {
            // Without its clauses the arrow is short of them, too.
            assert_eq!(found, ["2:grid-arrow-clauses-empty", "7:grid-key-unknown"]);
        } else {
            assert_eq!(found, [format!("{line}:{code}")], "{text}");
        }
    }
}

#[test]
fn one_more_line_is_one_problem_on_that_line() {
    for (line, added, code) in [
        (
            5,
            "    adversary-role: ANALYST",
            "grid-adversary-role-conflict",
        ),
        (
            5,
            "    adversary-role: architect",
            "grid-adversary-role-conflict",
        ),
        (5, "    adversary-role: a__b", "grid-role-invalid"),
        (5, "    adversary-role: ''", "grid-field-blank"),
        (5, "    target-role: other", "grid-key-duplicate"),
        (5, "    [a]: other", "grid-key-invalid"),
        (5, "    depth: 1", "grid-key-unknown"),
        (11, "        id: C1", "grid-key-duplicate"),
        (11, "        depth: [1]", "grid-field-must-be-text"),
        (11, "        min-tier: high", "min-tier-must-be-integer"),
        (11, "        min-tier: 0", "min-tier-must-be-positive"),
        (11, "        min-tier: 4294967296", "min-tier-too-large"),
        (7, "    covers:", "grid-covers-empty"),
        (7, "    covers: []", "grid-covers-empty"),
        (7, "    covers: ['!src/**']", "grid-covers-empty"),
        (7, "    covers: src/**", "grid-covers-must-be-list"),
        (7, "    covers: {src: 1}", "grid-covers-must-be-list"),
        (7, "    covers: [src/**, ../x]", "grid-cover-invalid"),
        (7, "    covers: ['!/etc/*', src/**]", "grid-cover-invalid"),
        (7, "    covers: [src/, '!src/x']", "grid-cover-invalid"),
        (7, "    covers: ['[a']", "grid-cover-invalid"),
        (7, "    covers: [[a]]", "grid-cover-invalid"),
        (7, "    covers: [~]", "grid-cover-invalid"),
        (7, "    covers: [a, '']", "grid-cover-invalid"),
        (11, "        covers: []", "grid-covers-empty"),
        (11, "        covers: ['C:/x']", "grid-cover-invalid"),
        (11, "        run: [make]", "grid-clause-run-unexpected"),
        (11, "        run:", "grid-clause-run-unexpected"),
        (11, "        timeout-s: 5", "grid-clause-timeout-unexpected"),
        (11, "      - not a map", "grid-must-be-map"),
        (
            11,
            "      - {id: C1, concept: c, eval: attested}",
            "grid-clause-id-duplicate",
        ),
        (
            11,
            "      - {id: D, concept: c, eval: machine}",
            "grid-clause-run-empty",
        ),
        (
            11,
            "      - {id: D, concept: c, eval: machine, run: []}",
            "grid-clause-run-empty",
        ),
        (
            11,
            "      - {id: D, concept: c, eval: machine, run: ['']}",
            "grid-clause-run-empty",
        ),
        (
            11,
            "      - {id: D, concept: c, eval: machine, run: make}",
            "grid-clause-run-must-be-list",
        ),
        (
            11,
            "      - {id: D, concept: c, eval: machine, run: [a, [b]]}",
            "grid-clause-run-argument-invalid",
        ),
        (
            11,
            "      - {id: D, concept: c, eval: machine, run: [a, ~]}",
            "grid-clause-run-argument-invalid",
        ),
        (
            11,
            "      - {id: D, concept: c, eval: machine, run: [a, \"\\0\"]}",
            "grid-clause-run-argument-invalid",
        ),
        (
            11,
            "  - {id: A, source-role: a, target-role: b, stratum: 1, context: c, clauses: [{id: C1, concept: c, eval: attested}]}",
            "grid-arrow-id-duplicate",
        ),
        (
            11,
            "  - {id: B, source-role: a, target-role: b, stratum: 1, context: c, clauses: []}",
            "grid-arrow-clauses-empty",
        ),
        (
            11,
            "  - {id: B, source-role: a, target-role: b, stratum: 1, context: c}",
            "grid-arrow-clauses-empty",
        ),
        (
            11,
            "  - {id: B, source-role: a, target-role: b, stratum: 1, context: c, clauses: C1}",
            "grid-arrow-clauses-must-be-list",
        ),
        (11, "  - just text", "grid-must-be-map"),
        (11, "version: 2", "grid-version-mismatch"),
        (11, "arrows: []", "grid-key-duplicate"),
        (11, "---\narrows: []", "grid-yaml-several-documents"),
    ] {
        let mut lines: Vec<&str> = VALID.lines().collect();
        lines.insert(line - 1, added);
        let expected = if code == "grid-yaml-several-documents" {
            12
        } else {
            line
        };
        assert_eq!(
            problems(&lines.join("\n")),
            [format!("{expected}:{code}")],
            "{added}"
        );
    }
}

#[test]
fn a_grid_without_arrows_is_refused() {
    for (text, code) in [
        ("", "1:grid-arrows-empty"),
        ("# nothing yet\n", "1:grid-arrows-empty"),
        ("---\n", "1:grid-arrows-empty"),
        ("version: 1\n", "1:grid-arrows-empty"),
        ("version: 1\narrows:\n", "2:grid-arrows-empty"),
        ("version: 1\narrows: []\n", "2:grid-arrows-empty"),
        ("version: 1\narrows: A\n", "2:grid-arrows-must-be-list"),
        ("version: 1\narrows: {A: 1}\n", "2:grid-arrows-must-be-list"),
        ("- arrows\n", "1:grid-must-be-map"),
        ("arrows", "1:grid-must-be-map"),
    ] {
        assert_eq!(problems(text), [code], "{text:?}");
    }
}

#[test]
fn no_two_questions_share_a_ref() {
    let arrow = |id: &str, clauses: &[&str]| {
        let clauses: Vec<String> = clauses
            .iter()
            .map(|id| format!("{{id: {id}, concept: c, eval: attested}}"))
            .collect();
        format!(
            "{{id: {id}, source-role: a, target-role: b, stratum: 1, context: c, clauses: [{}]}}",
            clauses.join(", ")
        )
    };
    let grid = |arrows: &[String]| problems(&format!("arrows:\n- {}\n", arrows.join("\n- ")));
    // Clause B of A against the arrow A-B, in both orders.
    let clash = ["3:grid-ref-ambiguous"];
    assert_eq!(grid(&[arrow("A", &["B"]), arrow("A-B", &["X"])]), clash);
    assert_eq!(grid(&[arrow("A-B", &["X"]), arrow("A", &["B"])]), clash);
    // Clause B-C of A against clause C of A-B.
    assert_eq!(grid(&[arrow("A", &["B-C"]), arrow("A-B", &["C"])]), clash);
    assert!(grid(&[arrow("A", &["B"]), arrow("A-C", &["B"])]).is_empty());
    // Being on one line is no excuse.
    let text = format!("arrows: [{}, {}]", arrow("A", &["B"]), arrow("A-B", &["X"]));
    assert_eq!(problems(&text), ["1:grid-ref-ambiguous"]);
}

#[test]
fn yaml_that_says_more_than_it_shows_is_refused() {
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\narrows: *c\n";
    let found = problems(bomb);
    assert!(found.contains(&"1:grid-yaml-alias".to_owned()), "{found:?}");
    assert!(found.contains(&"4:grid-yaml-alias".to_owned()), "{found:?}");
    assert_eq!(
        problems(&with_line(6, "    context: &c shop")),
        ["6:grid-yaml-alias"]
    );
    assert_eq!(
        problems(&with_line(6, "    context: *unknown")),
        ["6:grid-yaml-alias"]
    );
    assert_eq!(
        problems(&with_line(6, "    context: !!str 1")),
        ["6:grid-yaml-tag"]
    );
    assert_eq!(
        problems(&with_line(6, "    context: !x shop")),
        ["6:grid-yaml-tag"]
    );
    for opening in ["[", "{a: ", ": "] {
        let deep = format!("arrows: [{}", opening.repeat(100_000));
        assert_eq!(problems(&deep), ["1:grid-yaml-too-deep"], "{opening}");
    }
    let deep = "- ".repeat(100_000);
    assert_eq!(problems(&deep), ["1:grid-yaml-too-deep"]);
}

#[test]
fn size_is_bounded_and_the_largest_grid_is_read() {
    let padding = |len: usize| format!("{VALID}#{}", "x".repeat(len - VALID.len() - 1));
    assert!(parse(&padding(MAX_BYTES)).is_ok());
    assert_eq!(problems(&padding(MAX_BYTES + 1)), ["grid-too-large"]);
    // As many keys as fit: quadratic work would show as minutes.
    let keys: String = (0..90_000).map(|n| format!("k{n}: 1\n")).collect();
    assert_eq!(problems(&keys).len(), 90_001);
}

#[test]
fn text_from_the_file_cannot_steer_the_terminal() {
    let hostile = "\u{1b}[2J\u{9b}31m\u{202e}\u{200b}\u{7}\r";
    let quoted = "\\e[2J\\x9b31m\\u202e\\u200b\\u2028\\u00ad\\ufeff\\U000E0001\\a\\r";
    for text in [
        with_line(2, &format!("  - id: \"a{quoted}\"")),
        with_line(3, &format!("    source-role: \"a__{quoted}\"")),
        with_line(3, &format!("    source-role: \"a\n      {quoted}\"")),
        with_line(5, &format!("    \"{quoted}\": 1")),
        with_line(6, &format!("    context: *{hostile}")),
        with_line(6, &format!("    context: !{hostile} x")),
        with_line(6, &format!("    context: @{hostile}")),
        with_line(10, &format!("        eval: \"{quoted}\"")),
        format!("%{hostile} 1\n---\n{VALID}"),
        format!("{VALID}{hostile}"),
        format!("{VALID}\"\\{hostile}\": 1"),
    ] {
        let shown = Grid::parse(&text, 1, Path::new("grid\u{1b}.yaml"))
            .unwrap_err()
            .to_string();
        let raw = |c: char| (c.is_control() && c != '\n') || is_invisible(c);
        assert!(!shown.contains(raw), "{shown:?}");
    }
}

#[test]
fn the_whole_error_has_the_code_of_its_first_problem() {
    let settings = "insufficient-basis-rounds-max: 2.5\nmodal-pending-max-len: 0\n";
    let error = parse(&format!("{settings}{VALID}")).unwrap_err();
    assert_eq!(
        error.code(),
        "insufficient-basis-rounds-max-must-be-integer"
    );
    let error = parse(&format!("{VALID}insufficient-basis-rounds-max: \"3\"")).unwrap_err();
    assert_eq!(
        error.code(),
        "insufficient-basis-rounds-max-must-be-integer"
    );
}

#[test]
fn all_problems_are_listed_at_once_by_line() {
    let text = r#"version: 2
insufficient-basis-rounds-max: 3.0
residue-note-max-bytes: 0
modal_pending_max_len: 10
colour: red
arrows:
  - id: A
    source-role: operator
    target-role: de__v
    adversary-role: Operator
    stratum: 1
    clauses:
      - id: C1
        concept: "bell\a"
        eval: machine
        timeout-s: 1.5
      - id: C1
        eval: attested
        run: [make]
  - id: A-C1
    source-role: dev
    target-role: Dev
    stratum: 2
    context: shop
    context: basket
"#;
    insta::assert_snapshot!(parse(text).unwrap_err(), @r#"
    grid.v1.yaml:1: grid-version-mismatch: the file is version 1, its text says 2
    grid.v1.yaml:2: insufficient-basis-rounds-max-must-be-integer: insufficient-basis-rounds-max must be an integer, in digits and unquoted
    grid.v1.yaml:3: residue-note-max-bytes-must-be-positive: residue-note-max-bytes must be at least 1
    grid.v1.yaml:4: grid-key-unknown: a grid has no key "modal_pending_max_len"; did you mean "modal-pending-max-len"?
    grid.v1.yaml:5: grid-key-unknown: a grid has no key "colour"; it has version, insufficient-basis-rounds-max, residue-note-max-bytes, modal-pending-max-len, arrows
    grid.v1.yaml:7: grid-field-missing: "context" is missing
    grid.v1.yaml:8: grid-role-reserved: "operator" is the name ghyll attests under, so such an arrow would certify itself
    grid.v1.yaml:9: grid-role-invalid: the role "de__v" contains "__", which separates roles in the audit tree
    grid.v1.yaml:10: grid-adversary-role-conflict: "Operator" cannot be the adversary of an arrow it is an end of
    grid.v1.yaml:13: grid-clause-run-empty: "run" needs at least one entry
    grid.v1.yaml:16: timeout-s-must-be-integer: timeout-s must be an integer, in digits and unquoted
    grid.v1.yaml:17: grid-clause-id-duplicate: the id "C1" is already used on line 13
    grid.v1.yaml:17: grid-field-missing: "concept" is missing
    grid.v1.yaml:19: grid-clause-run-unexpected: an attested clause is decided by a person: no "run"
    grid.v1.yaml:20: grid-ref-ambiguous: its ref "att-A-C1" is also that of the id on line 13
    grid.v1.yaml:20: grid-arrow-clauses-empty: "clauses" needs at least one entry
    grid.v1.yaml:22: grid-roles-equal: source and target are the same role, "Dev"
    grid.v1.yaml:25: grid-key-duplicate: "context" is already set on line 24
    "#);
}

#[test]
fn what_is_quoted_stays_short() {
    let long = "ä".repeat(500_000);
    let shown = parse(&with_line(
        5,
        &format!("    stratum: 1\n    ? {long}\n    : 1"),
    ))
    .unwrap_err()
    .to_string();
    assert!(
        shown.contains("\"ää") && shown.contains("ä…\""),
        "{shown:.200}"
    );
    assert!(shown.chars().count() < 300, "{shown:.200}");
}

/// Rules under which `1`, `l` and `I` look alike, and paths are made of the
/// names as they are.
struct Rules;

impl IdRules for Rules {
    fn check_id(&self, id: &str) -> Result<(), String> {
        if id.contains('~') {
            Err("has ~".to_owned())
        } else {
            Ok(())
        }
    }

    fn skeleton(&self, id: &str) -> Result<String, String> {
        Ok(id.replace(['1', 'I'], "l"))
    }

    fn role_key(&self, role: &str) -> Result<String, String> {
        Ok(role.trim().to_lowercase())
    }

    fn segments(
        &self,
        context: &str,
        stratum: &str,
        roles: [&str; 3],
    ) -> Result<Option<[String; 3]>, String> {
        if context == "broken" {
            return Err("no answer".to_owned());
        }
        Ok(Some([
            context.to_owned(),
            stratum.to_owned(),
            roles.join("__"),
        ]))
    }
}

/// An arrow on one line: id, source, adversary, target, stratum, context and
/// the ids of its clauses.
fn arrow(fields: [&str; 6], clauses: &[&str]) -> String {
    let [id, source, adversary, target, stratum, context] = fields;
    let clauses: Vec<String> = clauses
        .iter()
        .map(|id| format!("{{id: {id}, concept: c, eval: attested}}"))
        .collect();
    format!(
        "- {{id: {id}, source-role: {source}, adversary-role: {adversary}, target-role: {target}, \
         stratum: {stratum}, context: {context}, clauses: [{}]}}\n",
        clauses.join(", ")
    )
}

fn judged_by(rules: &dyn IdRules, arrows: &[String]) -> Vec<String> {
    let text = format!("arrows:\n{}", arrows.concat());
    match judge(&text, None, Path::new("g"), rules) {
        Ok(_) => vec![],
        Err(GridError::Invalid { problems }) => problems
            .iter()
            .map(|problem| format!("{}:{}: {}", problem.line, problem.code, problem.message))
            .collect(),
        Err(other) => vec![other.to_string()],
    }
}

#[test]
fn ids_that_look_alike_are_refused_among_their_kind() {
    let base = || arrow(["A1", "dev", "~", "ops", "s1", "c1"], &["C1"]);
    let with =
        |other: [&str; 6], clauses: &[&str]| judged_by(&Rules, &[base(), arrow(other, clauses)]);
    let codes = |found: &[String]| -> Vec<String> {
        let code = |line: &String| line.split(": ").next().unwrap().to_owned();
        found.iter().map(code).collect()
    };
    assert!(with(["B", "dev", "~", "ops", "s1", "c1"], &["C1"]).is_empty());
    for other in [
        ["Al", "dev", "~", "ops", "s1", "c1"],
        ["AI", "dev", "~", "ops", "s1", "c1"],
        ["B", "dev", "~", "ops", "sl", "c1"],
        ["B", "dev", "~", "ops", "s1", "cl"],
    ] {
        let found = with(other, &["C1"]);
        assert_eq!(codes(&found), ["3:grid-ids-look-alike"], "{found:?}");
    }
    assert_eq!(
        with(["Al", "dev", "~", "ops", "s1", "c1"], &["C1"]),
        ["3:grid-ids-look-alike: the arrow \"Al\" looks like the arrow \"A1\" on line 2"]
    );
    // Whichever end a role stands at.
    let roles = [
        arrow(["A", "role1", "~", "b", "s", "c"], &["C"]),
        arrow(["B", "b", "rolel", "x", "s", "c"], &["C"]),
    ];
    assert_eq!(codes(&judged_by(&Rules, &roles)), ["3:grid-ids-look-alike"]);
    // Clauses of one arrow; those of another are asked apart.
    let found = with(["B", "dev", "~", "ops", "s1", "c1"], &["Cl"]);
    assert!(found.is_empty(), "{found:?}");
    let found = with(["B", "dev", "~", "ops", "s1", "c1"], &["Cl", "D", "CI"]);
    assert_eq!(codes(&found), ["3:grid-ids-look-alike"]);
    // A context may look like a stratum.
    assert!(with(["B", "dev", "~", "ops", "s1", "sl"], &["C1"]).is_empty());
    // What cannot be seen is spelt out.
    let cyrillic = [
        arrow(["A", "a", "~", "b", "s", "c"], &["C"]),
        arrow(["\u{410}", "a", "~", "b", "s", "c"], &["C"]),
    ];
    struct Latin;
    impl IdRules for Latin {
        fn check_id(&self, _: &str) -> Result<(), String> {
            Ok(())
        }
        fn skeleton(&self, id: &str) -> Result<String, String> {
            Ok(id.replace('\u{410}', "A"))
        }
        fn role_key(&self, role: &str) -> Result<String, String> {
            Ok(role.to_owned())
        }
        fn segments(&self, _: &str, _: &str, _: [&str; 3]) -> Result<Option<[String; 3]>, String> {
            Ok(None)
        }
    }
    assert_eq!(
        judged_by(&Latin, &cyrillic),
        ["3:grid-ids-look-alike: the arrow \"<U+0410>\" looks like the arrow \"A\" on line 2"]
    );
}

#[test]
fn every_kind_of_id_is_held_to_the_rules() {
    for bad in [
        ["A~", "a", "~", "b", "s", "c"],
        ["A", "a~", "~", "b", "s", "c"],
        ["A", "a", "x~", "b", "s", "c"],
        ["A", "a", "~", "b~", "s", "c"],
        ["A", "a", "~", "b", "s~", "c"],
        ["A", "a", "~", "b", "s", "c~"],
    ] {
        let found = judged_by(&Rules, &[arrow(bad, &["C"])]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("2:grid-id-invalid-characters: "),
            "{found:?}"
        );
    }
    let found = judged_by(&Rules, &[arrow(["A", "a", "~", "b", "s", "c"], &["C~"])]);
    assert_eq!(found, ["2:grid-id-invalid-characters: id \"C~\" has ~"]);
    let found = judged_by(
        &Rules,
        &[arrow(["A", "a", "~", "b", "s", "broken"], &["C"])],
    );
    assert_eq!(found, ["2:policy-component-failed: no answer"]);
}

#[test]
fn paths_that_differ_only_in_case_are_refused() {
    let pair = |first: [&str; 6], second: [&str; 6]| {
        problems(&format!(
            "arrows:\n{}{}",
            arrow(first, &["C"]),
            arrow(second, &["C"])
        ))
    };
    let collision = ["3:grid-path-collision"];
    let base = ["A", "dev", "~", "ops", "code", "shop"];
    for other in [
        ["B", "dev", "~", "ops", "code", "Shop"],
        ["B", "dev", "~", "ops", "Code", "shop"],
        ["B", "Dev", "~", "ops", "code", "shop"],
        ["B", "ops", "~", "DEV", "code", "shop"],
        ["B", "x", "Dev", "y", "code", "shop"],
    ] {
        assert_eq!(pair(base, other), collision, "{other:?}");
    }
    // Roles that are different, in pairs that are not.
    let first = ["A", "A_", "~", "b", "code", "shop"];
    let second = ["B", "a", "~", "_B", "code", "shop"];
    assert_eq!(
        pair(first, second),
        ["2:grid-path-collision", "3:grid-path-collision"][1..]
    );
    // One path for two values loses nothing, and neither do other names.
    for other in [
        ["B", "dev", "~", "ops", "code", "shop"],
        ["B", "ops", "~", "dev", "code", "shops"],
    ] {
        assert!(pair(base, other).is_empty(), "{other:?}");
    }
    let same = ["A", "dev", "~", "ops", "code", "'a/b'"];
    assert!(pair(same, ["B", "dev", "~", "ops", "code", "'a:b'"]).is_empty());
    assert_eq!(
        pair(same, ["B", "dev", "~", "ops", "code", "'A:b'"]),
        collision
    );
    // Beyond ASCII a path is a digest, the same on every disk.
    let ascii = ["A", "dev", "~", "ops", "code", "\u{e4}"];
    assert!(pair(ascii, ["B", "dev", "~", "ops", "code", "\u{c4}"]).is_empty());
    // ghyll's own directory, itself, is nobody else's to collide with.
    assert!(pair(base, ["B", "dev", "~", "ops", "init", "init"]).is_empty());
}

#[test]
fn globs_that_yaml_takes_for_something_else_are_explained() {
    for (entry, code, word) in [
        ("!src/gen", "grid-yaml-tag", "quote"),
        ("*.rs", "grid-yaml-alias", "quote"),
        ("[ab]*", "grid-yaml-syntax", ""),
        ("{a,b}", "grid-cover-invalid", "quote"),
    ] {
        let mut lines: Vec<&str> = VALID.lines().collect();
        let covers = format!("    covers:\n      - {entry}");
        lines.insert(6, &covers);
        let error = parse(&lines.join("\n")).unwrap_err();
        let GridError::Invalid { problems } = error else {
            panic!("{error}");
        };
        let found = problems.iter().find(|problem| problem.code == code);
        let found = found.unwrap_or_else(|| panic!("{entry}: {problems:?}"));
        assert_eq!(found.line, 8, "{entry}");
        assert!(found.message.contains(word), "{}", found.message);
    }
}

#[test]
fn a_text_without_a_version_yet_is_judged_whatever_it_says() {
    for (said, version) in [("", 1), ("version: 7\n", 7)] {
        let grid = Grid::judge(&format!("{said}{VALID}"), Path::new("g")).unwrap();
        assert_eq!(grid.version, version);
    }
    let error = Grid::judge(&format!("version: x\n{VALID}"), Path::new("g")).unwrap_err();
    assert_eq!(error.code(), "version-must-be-integer");
}
