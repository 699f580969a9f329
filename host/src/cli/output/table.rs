//! Lists in columns.
//!
//! Columns are as wide as what stands in them. Where they do not fit, the last
//! one is broken into lines below itself; where there is no room for that, it
//! stands below its row; and where there is none for the others, each thing is
//! a line of its own under its heading's name. Where nobody looks, lines are
//! whole.

use super::{Output, QUIET, STRONG, Text, text};
use crate::cli::Failure;

/// Blanks between columns.
const GAP: usize = 2;
/// Fewer columns than this are too few for the last one to be broken in.
const LAST_MIN: usize = 24;
/// Rows that are looked at before widths are settled.
const AT_ONCE: usize = 1000;

/// Where cells stand.
#[derive(Debug, Clone, Copy)]
enum Layout {
    /// All beside each other.
    Whole,
    /// The last one below the others.
    LastBelow,
    /// Each on a line of its own.
    Stacked,
}

/// Rows of cells under headings.
pub struct Table {
    headings: Vec<&'static str>,
    widths: Vec<usize>,
    rows: Vec<Row>,
    begun: bool,
}

struct Row {
    cells: Vec<Text>,
    /// Lines below it.
    below: Vec<Text>,
}

impl Table {
    /// A table with these headings and no row yet.
    pub fn new(headings: &[&'static str]) -> Self {
        Self {
            headings: headings.to_vec(),
            widths: headings.iter().map(|heading| heading.len()).collect(),
            rows: Vec::new(),
            begun: false,
        }
    }

    /// Adds a row. Of very many the first are printed already.
    ///
    /// # Errors
    /// If they cannot be printed.
    pub fn row(&mut self, out: &Output, cells: Vec<Text>, below: Vec<Text>) -> Result<(), Failure> {
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            *width = (*width).max(cell.width());
        }
        self.rows.push(Row { cells, below });
        if self.rows.len() >= AT_ONCE {
            self.print(out)?;
        }
        Ok(())
    }

    /// Prints what is not printed yet.
    ///
    /// # Errors
    /// If it cannot be printed.
    pub fn print(&mut self, out: &Output) -> Result<(), Failure> {
        let columns = out.data_columns();
        let layout = self.layout(columns);
        let beside = match layout {
            Layout::Whole => self.headings.len(),
            Layout::LastBelow => self.headings.len().saturating_sub(1),
            Layout::Stacked => 0,
        };
        if !std::mem::replace(&mut self.begun, true) && beside > 0 {
            let headings = self.headings.iter().take(beside);
            let headings: Vec<Text> = headings.map(|h| Text::styled(h, STRONG)).collect();
            out.line(self.aligned(&headings))?;
        }
        let before: usize = self.widths.iter().rev().skip(1).map(|w| w + GAP).sum();
        for row in std::mem::take(&mut self.rows) {
            let cells = row.cells.get(..beside.min(row.cells.len()));
            match layout {
                Layout::Stacked => self.stack(out, &row, columns)?,
                Layout::Whole | Layout::LastBelow => {
                    for line in self
                        .aligned(cells.unwrap_or_default())
                        .wrapped(before, columns)
                    {
                        out.line(line)?;
                    }
                }
            }
            if let (Layout::LastBelow, Some(heading), Some(cell)) =
                (layout, self.headings.last(), row.cells.last())
                && cell.width() > 0
            {
                let name = Text::styled(&heading.to_lowercase(), QUIET);
                for line in text!["    ", name, " ", cell].wrapped(6, columns) {
                    out.line(line)?;
                }
            }
            for below in &row.below {
                for line in text!["    ", below].wrapped(6, columns) {
                    out.line(line)?;
                }
            }
        }
        Ok(())
    }

    /// How it is laid out on so many columns.
    fn layout(&self, columns: usize) -> Layout {
        let last = self.widths.last().copied().unwrap_or(0);
        let others = self.widths.iter().rev().skip(1);
        let before: usize = others.map(|width| width + GAP).sum();
        if columns.saturating_sub(before) >= last.min(LAST_MIN) {
            Layout::Whole
        } else if before.saturating_sub(GAP) <= columns {
            Layout::LastBelow
        } else {
            Layout::Stacked
        }
    }

    fn aligned(&self, cells: &[Text]) -> Text {
        let mut line = Text::default();
        // What is empty at the end needs no blanks in front.
        let filled = cells.iter().rposition(|cell| cell.width() > 0);
        let cells = cells.get(..filled.map_or(0, |at| at + 1)).unwrap_or(cells);
        for (at, (cell, width)) in cells.iter().zip(&self.widths).enumerate() {
            line.push(cell);
            if at + 1 < cells.len() {
                let blanks = width.saturating_sub(cell.width()) + GAP;
                line.push(" ".repeat(blanks));
            }
        }
        line
    }

    /// Each cell on a line of its own, but those that fit beside the first.
    fn stack(&self, out: &Output, row: &Row, columns: usize) -> Result<(), Failure> {
        let mut cells = self.headings.iter().zip(&row.cells);
        let mut first = Text::default();
        if let Some((_, cell)) = cells.next() {
            first.push(cell);
        }
        let mut rest: Vec<_> = cells.filter(|(_, cell)| cell.width() > 0).collect();
        if let Some((_, second)) = rest.first()
            && first.width() + GAP + second.width() <= columns
        {
            first.push("  ");
            first.push(*second);
            rest.remove(0);
        }
        for line in first.wrapped(2, columns) {
            out.line(line)?;
        }
        let widest = self.headings.iter().map(|h| h.len()).max().unwrap_or(0);
        for (heading, cell) in rest {
            let name = format!("  {:widest$}  ", heading.to_lowercase());
            let line = text![Text::styled(&name, QUIET), cell];
            for line in line.wrapped(widest + 4, columns) {
                out.line(line)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::status;

    fn seen(columns: usize) -> String {
        let out = Output::captured_at(columns);
        let mut table = Table::new(&["ARROW", "STATUS", "LAST"]);
        let last = "fail by somebody@example.com, 3 hours ago";
        for (id, word, last) in [("A-checkout", "blocked", last), ("A-日本", "complete", "")] {
            let cells = vec![id.into(), status(word), last.into()];
            let below = match last {
                "" => Vec::new(),
                _ => vec!["a remark that stands below the row it is about".into()],
            };
            table.row(&out, cells, below).unwrap();
        }
        table.print(&out).unwrap();
        out.take()
    }

    #[test]
    fn columns_are_aligned_and_broken_and_stacked_where_there_is_no_room() {
        for columns in [usize::MAX, 80, 50, 30, 20] {
            let shown = seen(columns);
            for line in shown.lines() {
                assert!(ghyll::text::width(line) <= columns, "{columns}: {line}");
            }
            let name = match columns {
                usize::MAX => "piped".to_owned(),
                columns => columns.to_string(),
            };
            insta::assert_snapshot!(format!("table_at_{name}"), shown);
        }
    }

    #[test]
    fn of_very_many_rows_the_first_are_printed_and_headings_once() {
        let out = Output::captured_at(80);
        let mut table = Table::new(&["N", "IT"]);
        for n in 0..AT_ONCE + 1 {
            let cells = vec![n.to_string().into(), "x".into()];
            table.row(&out, cells, Vec::new()).unwrap();
        }
        table.print(&out).unwrap();
        let shown = out.take();
        assert_eq!(shown.lines().count(), AT_ONCE + 2);
        assert_eq!(shown.matches("IT").count(), 1);
    }
}
