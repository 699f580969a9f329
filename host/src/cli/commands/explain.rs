//! `ghyll explain`: what a code means, and what to do about it.

use ghyll::codes::{self, Page};
use ghyll::text::nearest;

use crate::cli::output::{STRONG, Table, Text};
use crate::cli::{Failure, Output};

/// Prints the page of a code, or lists all of them.
///
/// # Errors
/// `code-unknown`, and if it cannot be printed.
pub fn run(out: &Output, code: Option<&str>) -> Result<u8, Failure> {
    let Some(asked) = code else {
        return list(out);
    };
    // As it is printed, too: error[code].
    let bare = asked.trim().trim_end_matches(']');
    let bare = bare.rsplit('[').next().unwrap_or(bare);
    let page = codes::page(bare).ok_or_else(|| unknown(bare))?;
    if out.json() {
        out.value(page)?;
        return Ok(0);
    }
    out.line(Text::styled(page.code, STRONG))?;
    out.line("")?;
    out.line_wrapped(page.meaning, 0)?;
    out.line("")?;
    out.line_wrapped(format!("What to do: {}", page.hint), 0)?;
    Ok(0)
}

fn list(out: &Output) -> Result<u8, Failure> {
    if out.json() {
        out.value(&codes::all().collect::<Vec<_>>())?;
        return Ok(0);
    }
    out.paged(|| {
        let mut table = Table::new(&["CODE", "MEANING"]);
        for Page { code, meaning, .. } in codes::all() {
            let cells = vec![Text::styled(code, STRONG), (*meaning).into()];
            table.row(out, cells, Vec::new())?;
        }
        table.print(out)
    })?;
    Ok(0)
}

fn unknown(code: &str) -> Failure {
    let failure = Failure::new(codes::CODE_UNKNOWN, format!("there is no code {code:?}"));
    match nearest(code, codes::all().map(|page| page.code)) {
        Some(near) => failure.with_hint(format!(
            "Did you mean {near}? `ghyll explain` lists them all."
        )),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_explained_as_it_is_written_and_as_it_is_printed() {
        let out = Output::captured();
        run(&out, Some("error[op-id-required]")).unwrap();
        insta::assert_snapshot!(out.take());
        let failure = run(&out, Some("op-id-requird")).unwrap_err();
        out.failure(&failure);
        insta::assert_snapshot!(out.take());
    }

    #[test]
    fn without_a_code_all_are_listed() {
        let out = Output::captured_at(usize::MAX);
        run(&out, None).unwrap();
        // And a heading.
        assert_eq!(out.take().lines().count(), codes::all().count() + 1);
    }
}
