//! What the gate says, as CI systems read it.

use std::fmt::Write as _;

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::check::{Checked, CheckedClause};
use crate::work::status::ClauseStatus;

/// JUnit's XML: a suite an arrow, a case a clause, and a suite for what is
/// wrong with the record itself.
///
/// # Errors
/// If it cannot be made; no text of a project does that.
pub fn junit(checked: &Checked) -> Result<String, SerializeError> {
    let mut report = Report::new("ghyll check");
    for arrow in &checked.arrows {
        let mut suite = TestSuite::new(arrow.id.as_str());
        for clause in &arrow.clauses {
            let status = match clause.status {
                ClauseStatus::Pass => TestCaseStatus::success(),
                status => failed(status.as_str(), &in_words(clause)),
            };
            let mut case = TestCase::new(clause.id.as_str(), status);
            case.set_classname(arrow.id.as_str());
            suite.add_test_case(case);
        }
        report.add_test_suite(suite);
    }
    if !checked.issues.is_empty() {
        let mut suite = TestSuite::new("record");
        for issue in &checked.issues {
            let place = match issue.line {
                0 => issue.path.clone(),
                line => format!("{}:{line}", issue.path),
            };
            let mut case = TestCase::new(place, failed(&issue.code, &issue.message));
            case.set_classname("record");
            suite.add_test_case(case);
        }
        report.add_test_suite(suite);
    }
    report.to_string()
}

fn failed(kind: &str, message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(kind).set_message(message);
    status
}

/// GitHub's workflow commands: an annotation a clause, on the first place that
/// was inspected, and one for each thing that is wrong with the record.
pub fn github(checked: &Checked) -> String {
    let mut text = String::new();
    for arrow in &checked.arrows {
        for clause in &arrow.clauses {
            let level = match clause.status {
                ClauseStatus::Pass => "notice",
                _ => "error",
            };
            let title = format!("{}/{} {}", arrow.id, clause.id, clause.status.as_str());
            let place = match clause.changed.first() {
                Some(path) if clause.place.is_empty() => path.clone(),
                _ => clause.place.clone(),
            };
            annotate(&mut text, level, &place, &title, &in_words(clause));
        }
    }
    for issue in &checked.issues {
        let place = match issue.line {
            0 => format!(".ghyll/{}", issue.path),
            line => format!(".ghyll/{}:{line}", issue.path),
        };
        annotate(&mut text, "error", &place, &issue.code, &issue.message);
    }
    text
}

fn in_words(clause: &CheckedClause) -> String {
    if clause.changed.is_empty() {
        return clause.message.clone();
    }
    format!(
        "{} (changed: {})",
        clause.message,
        clause.changed.join(", ")
    )
}

fn annotate(text: &mut String, level: &str, place: &str, title: &str, message: &str) {
    let (file, lines) = match place.rsplit_once(':') {
        Some((file, lines)) if lines.starts_with(|c: char| c.is_ascii_digit()) => (file, lines),
        _ => (place, ""),
    };
    let mut properties = Vec::new();
    if !file.is_empty() {
        properties.push(format!("file={}", property(file)));
    }
    let mut numbers = lines
        .split('-')
        .filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
    if let Some(first) = numbers.next().filter(|n| !n.is_empty()) {
        properties.push(format!("line={first}"));
        if let Some(last) = numbers.next().filter(|n| !n.is_empty()) {
            properties.push(format!("endLine={last}"));
        }
    }
    properties.push(format!("title={}", property(title)));
    let _ = writeln!(
        text,
        "::{level} {}::{}",
        properties.join(","),
        data(message)
    );
}

/// What GitHub would read as its own in a message.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// The same in a property, where `:` and `,` mean something too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckedArrow;
    use crate::work::status::ArrowStatus;

    fn checked() -> Checked {
        let clause = |id: &str, status, place: &str, changed: &[&str]| CheckedClause {
            id: id.to_owned(),
            status,
            message: "by al\n100%".to_owned(),
            changed: changed.iter().map(|c| (*c).to_owned()).collect(),
            place: place.to_owned(),
        };
        Checked {
            ok: false,
            arrows: vec![CheckedArrow {
                id: "A".to_owned(),
                status: ArrowStatus::Blocked,
                clauses: vec![
                    clause("B", ClauseStatus::Fail, "src/a,b.rs:3-9", &[]),
                    clause("C", ClauseStatus::Stale, "", &["src/c.rs"]),
                    clause("D", ClauseStatus::Pass, "", &[]),
                ],
            }],
            issues: Vec::new(),
        }
    }

    #[test]
    fn an_annotation_stands_where_somebody_looked_and_cannot_be_broken_out_of() {
        assert_eq!(
            github(&checked()),
            "::error file=src/a%2Cb.rs,line=3,endLine=9,title=A/B fail::by al%0A100%25\n\
             ::error file=src/c.rs,title=A/C stale::by al%0A100%25 (changed: src/c.rs)\n\
             ::notice title=A/D pass::by al%0A100%25\n"
        );
    }

    #[test]
    fn a_clause_that_does_not_hold_is_a_failed_case() {
        let xml = junit(&checked()).unwrap();
        assert!(
            xml.contains(r#"tests="3""#) && xml.contains(r#"failures="2""#),
            "{xml}"
        );
        assert!(
            xml.contains(r#"<testcase name="C" classname="A">"#),
            "{xml}"
        );
    }
}
