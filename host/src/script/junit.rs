//! What came of scripts, as the XML that CI systems read: a suite a script, a
//! case an expectation, and one case for the script having run to its end; and
//! a suite for the golden tree, where one was expected.

use quick_junit::{NonSuccessKind, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::{NotRun, Report, ScriptError};

/// The case that says whether a script ended where it was to end.
const END: &str = "runs to its end";

/// The XML for scripts, by name, each with what came of it, and for the
/// `differences` from a golden tree, if one was expected.
///
/// # Errors
/// If it cannot be made; no text a script can give does that.
pub fn xml<'a>(
    scripts: impl IntoIterator<Item = (&'a str, Result<&'a Report, &'a NotRun>)>,
    differences: Option<&[String]>,
) -> Result<String, SerializeError> {
    let mut xml = quick_junit::Report::new("ghyll replay");
    for (name, came) in scripts {
        xml.add_test_suite(match came {
            Ok(report) => ran(name, report),
            Err(error) => suite(name, [refused(name, error)]),
        });
    }
    if let Some(differences) = differences {
        xml.add_test_suite(golden(differences));
    }
    xml.to_string()
}

fn suite(name: &str, cases: impl IntoIterator<Item = TestCase>) -> TestSuite {
    let mut suite = TestSuite::new(name);
    suite.add_test_cases(cases);
    suite
}

fn case(suite: &str, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(suite);
    case
}

fn wrong(kind: NonSuccessKind, code: &str, message: String) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(code).set_message(message);
    status
}

fn ran(name: &str, report: &Report) -> TestSuite {
    let expectations = report.expectations.iter().map(|expectation| {
        let status = if expectation.met {
            TestCaseStatus::success()
        } else {
            let message = format!("{}: {}", expectation.place.in_file(name), expectation.text);
            wrong(NonSuccessKind::Failure, "expectation-failed", message)
        };
        case(name, &expectation.text, status)
    });
    let mut suite = suite(name, expectations);
    suite.add_test_case(case(name, END, ended(name, report.error.as_ref())));
    suite.set_time(report.took);
    suite
}

fn ended(name: &str, error: Option<&ScriptError>) -> TestCaseStatus {
    match error {
        None => TestCaseStatus::success(),
        Some(error) => wrong(
            NonSuccessKind::Error,
            &error.code,
            format!("{}: {error}", error.place.in_file(name)),
        ),
    }
}

fn refused(name: &str, error: &NotRun) -> TestCase {
    let message = error.to_string();
    case(
        name,
        END,
        wrong(NonSuccessKind::Error, error.code(), message),
    )
}

fn golden(differences: &[String]) -> TestSuite {
    const NAME: &str = "golden tree";
    let as_expected = differences
        .is_empty()
        .then(|| case(NAME, "is the tree expected", TestCaseStatus::success()));
    let differing = differences.iter().map(|difference| {
        let code = "golden-tree-differs";
        let status = wrong(NonSuccessKind::Failure, code, difference.clone());
        case(NAME, difference, status)
    });
    suite(NAME, as_expected.into_iter().chain(differing))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::script::{Expectation, Place};

    fn report() -> Report {
        let place = Place { line: 3, column: 1 };
        let expectation = |text: &str, met| Expectation {
            text: text.to_owned(),
            met,
            place,
        };
        Report {
            expectations: vec![
                expectation("all is well", true),
                expectation("<a> & \"b\"\n\u{1b}[31m\u{0}", false),
            ],
            error: Some(ScriptError {
                place,
                code: "script-failed".to_owned(),
                message: "x < y".to_owned(),
            }),
            took: Duration::from_millis(1500),
        }
    }

    fn refusal() -> NotRun {
        let dir = tempfile::tempdir().unwrap();
        crate::script::source::read(dir.path()).unwrap_err().into()
    }

    /// What a reader finds: name, failures, errors and cases of each suite.
    fn read(xml: &str) -> Vec<(String, usize, usize, Vec<String>)> {
        let report = quick_junit::Report::deserialize_from_str(xml).unwrap();
        let suites = report.test_suites.iter().map(|suite| {
            assert_eq!(suite.tests, suite.test_cases.len());
            let cases = suite.test_cases.iter();
            (
                suite.name.to_string(),
                suite.failures,
                suite.errors,
                cases.map(|case| case.name.to_string()).collect(),
            )
        });
        suites.collect()
    }

    #[test]
    fn each_script_is_a_suite_and_what_it_says_survives() {
        let (report, refusal) = (report(), refusal());
        let scripts = [("a&b.rhai", Ok(&report)), ("late.rhai", Err(&refusal))];
        let xml = xml(scripts, None).unwrap();
        assert_eq!(
            read(&xml),
            [
                (
                    "a&b.rhai".to_owned(),
                    1,
                    1,
                    vec![
                        "all is well".to_owned(),
                        "<a> & \"b\"\n".to_owned(),
                        END.to_owned()
                    ]
                ),
                ("late.rhai".to_owned(), 0, 1, vec![END.to_owned()]),
            ]
        );
        assert!(xml.contains("a&amp;b.rhai:3:1: x &lt; y"), "{xml}");
        assert!(xml.contains(refusal.code()), "{xml}");
        assert!(xml.contains("time=\"1.500\""), "{xml}");
    }

    #[test]
    fn a_golden_tree_that_differs_is_a_failing_case() {
        let none = xml([], Some(&[])).unwrap();
        assert_eq!(
            read(&none),
            [(
                "golden tree".to_owned(),
                0,
                0,
                vec!["is the tree expected".to_owned()]
            )]
        );
        let differences = ["v1/a.jsonl:3: differs".to_owned()];
        let xml = xml([], Some(&differences)).unwrap();
        assert_eq!(
            read(&xml),
            [("golden tree".to_owned(), 1, 0, differences.to_vec())]
        );
    }
}
