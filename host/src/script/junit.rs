//! What came of scripts, as the XML that CI systems read: a suite a script, a
//! case an expectation, and one case for the script having run to its end.

use std::fmt::Write as _;

use super::Report;

/// The XML for scripts, by name.
pub fn xml<'a>(scripts: impl IntoIterator<Item = (&'a str, &'a Report)>) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (name, report) in scripts {
        suite(&mut xml, name, report);
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn suite(xml: &mut String, name: &str, report: &Report) {
    let name_escaped = escaped(name);
    // Writing to a string cannot fail.
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{name_escaped}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3}\">",
        report.expectations.len() + 1,
        report.failed().count(),
        u8::from(report.error.is_some()),
        report.took.as_secs_f64(),
    );
    let mut case = |case: &str, inside: Option<(&str, String)>| {
        let _ = write!(
            xml,
            "    <testcase classname=\"{name_escaped}\" name=\"{}\"",
            escaped(case)
        );
        let _ = match inside {
            None => writeln!(xml, "/>"),
            Some((tag, message)) => {
                writeln!(
                    xml,
                    "><{tag} message=\"{}\"/></testcase>",
                    escaped(&message)
                )
            }
        };
    };
    for expectation in &report.expectations {
        let failure = (!expectation.met).then(|| {
            (
                "failure",
                format!("{name}:{}: {}", expectation.place, expectation.text),
            )
        });
        case(&expectation.text, failure);
    }
    let error = report
        .error
        .as_ref()
        .map(|error| ("error", format!("{name}:{error}")));
    case("runs to its end", error);
    xml.push_str("  </testsuite>\n");
}

/// A text as it may stand in an attribute. What XML cannot carry in any form,
/// control characters among it, is dropped.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::script::{Expectation, Place, ScriptError};

    #[test]
    fn the_xml_is_well_formed_whatever_the_texts_are() {
        let place = Place { line: 3, column: 1 };
        let report = Report {
            expectations: vec![
                Expectation {
                    text: "all is well".to_owned(),
                    met: true,
                    place,
                },
                Expectation {
                    text: "<a> & \"b\"\n\u{1b}[31m".to_owned(),
                    met: false,
                    place,
                },
            ],
            error: Some(ScriptError {
                place,
                code: "script-failed".to_owned(),
                message: "x < y".to_owned(),
            }),
            took: Duration::from_millis(1500),
        };
        assert_eq!(
            xml([("a&b.rhai", &report)]),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  \
             <testsuite name=\"a&amp;b.rhai\" tests=\"3\" failures=\"1\" errors=\"1\" time=\"1.500\">\n    \
             <testcase classname=\"a&amp;b.rhai\" name=\"all is well\"/>\n    \
             <testcase classname=\"a&amp;b.rhai\" name=\"&lt;a&gt; &amp; &quot;b&quot;&#10;[31m\">\
             <failure message=\"a&amp;b.rhai:3:1: &lt;a&gt; &amp; &quot;b&quot;&#10;[31m\"/></testcase>\n    \
             <testcase classname=\"a&amp;b.rhai\" name=\"runs to its end\">\
             <error message=\"a&amp;b.rhai:3:1: x &lt; y\"/></testcase>\n  \
             </testsuite>\n</testsuites>\n"
        );
    }
}
