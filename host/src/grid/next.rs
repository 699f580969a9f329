//! Bringing a text into force as the next version.
//!
//! Whoever edits a grid should not have to know which version is next: the
//! number in the text is set, every other byte of it stays. What changes
//! nothing is refused, for each version has every clause asked anew.

use std::path::Path;

use cap_std::fs::Dir;

use super::files::newest_version;
use super::parse::{Judged, judge};
use super::{Change, Grid, GridError, diff, ids};

/// A version that has come into force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// The new version.
    pub grid: Grid,
    /// The version that was in force before, if one was that could be read.
    pub before: Option<u64>,
    /// What changed; empty if there is nothing to compare with.
    pub changes: Vec<Change>,
}

impl Grid {
    /// Brings `text` into force as the version after the newest one, whatever
    /// version it says. `file` is how problems name it. A write that was
    /// interrupted is completed by the same text. The caller holds the
    /// project's lock.
    ///
    /// # Errors
    /// [`GridError::Invalid`] or [`GridError::TooLarge`] for the text,
    /// [`GridError::Unchanged`], those of the pointer but for one that names an
    /// older version than there is, and [`GridError::Write`]. On each of them
    /// the grid in force is what it was.
    pub fn next(ghyll: &Dir, text: &str, file: &Path) -> Result<Next, GridError> {
        let judged = judge(text, None, file, ids::component())?;
        let newest = newest_version(ghyll)?.unwrap_or(0);
        let (pointed, whole) = match Grid::active_version(ghyll) {
            Ok(version) => (Some(version), true),
            Err(GridError::PointerStale { pointed, .. }) => (Some(pointed), false),
            // A first grid whose writing was interrupted.
            Err(GridError::PointerMissing { .. }) if newest > 0 => (None, false),
            Err(error) => return Err(error),
        };
        // One that was broken in place can still be followed by a good one.
        let before = pointed.and_then(|version| Grid::read_version(ghyll, version).ok());
        let changes = before
            .as_ref()
            .map(|before| diff(before, &judged.grid))
            .unwrap_or_default();
        if let Some(before) = &before
            && whole
            && changes.is_empty()
        {
            return Err(GridError::Unchanged {
                version: before.version,
            });
        }
        let again = numbered(text, &judged, newest);
        let version = if !whole && Grid::read_text(ghyll, newest).is_ok_and(|text| text == again) {
            newest
        } else {
            newest.saturating_add(1)
        };
        Grid::write(ghyll, version, &numbered(text, &judged, version))?;
        Ok(Next {
            grid: Grid {
                version,
                ..judged.grid
            },
            before: before.map(|before| before.version),
            changes,
        })
    }

    /// `text` as version `version`: the number it says is set, if it says one,
    /// and nothing else is touched.
    ///
    /// # Errors
    /// As [`Grid::judge`].
    pub fn numbered(text: &str, version: u64, file: &Path) -> Result<String, GridError> {
        let judged = judge(text, None, file, ids::component())?;
        Ok(numbered(text, &judged, version))
    }
}

fn numbered(text: &str, judged: &Judged, version: u64) -> String {
    let parts = judged
        .version_at
        .as_ref()
        .and_then(|at| Some((text.get(..at.start)?, text.get(at.end..)?)));
    match parts {
        Some((before, after)) => format!("{before}{version}{after}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use cap_std::ambient_authority;
    use tempfile::TempDir;

    use super::*;

    fn text(version: &str, context: &str) -> String {
        format!(
            "# größer\r\n{version}arrows: # of us\n  - id: A\n    source-role: a\n    target-role: b\n    \
             stratum: 1\n    context: {context}\n    clauses: [{{id: C, concept: c, eval: attested}}]\n"
        )
    }

    fn project() -> (TempDir, Dir) {
        let temp = tempfile::tempdir().unwrap();
        let ghyll = Dir::open_ambient_dir(temp.path(), ambient_authority()).unwrap();
        Grid::write(&ghyll, 1, &text("version: 1\n", "one")).unwrap();
        (temp, ghyll)
    }

    fn next(ghyll: &Dir, text: &str) -> Result<Next, GridError> {
        Grid::next(ghyll, text, Path::new("draft.yaml"))
    }

    #[test]
    fn only_the_number_is_rewritten() {
        for (said, written) in [
            ("version: 1 # ours\n", "version: 2 # ours\n"),
            ("version: 0099\r\n", "version: 2\r\n"),
            ("\"version\":\n  7\n", "\"version\":\n  2\n"),
            ("? version\n: +3\n", "? version\n: 2\n"),
            ("", ""),
        ] {
            let (_temp, ghyll) = project();
            let next = next(&ghyll, &text(said, "two")).unwrap();
            assert_eq!((next.grid.version, next.before), (2, Some(1)));
            assert_eq!(
                next.changes
                    .iter()
                    .map(Change::to_string)
                    .collect::<Vec<_>>(),
                ["A: context was \"one\", is now \"two\""]
            );
            assert_eq!(Grid::read_text(&ghyll, 2).unwrap(), text(written, "two"));
            assert_eq!(Grid::read_active(&ghyll).unwrap(), next.grid);
        }
        let flow = "{version: 1, arrows: [{id: A, source-role: ä, target-role: b, stratum: 1, \
                    context: c, clauses: [{id: C, concept: c, eval: attested}]}]}";
        let numbered = Grid::numbered(flow, 12, Path::new("f")).unwrap();
        assert_eq!(numbered, flow.replace("version: 1,", "version: 12,"));
    }

    #[test]
    fn what_is_bad_or_changes_nothing_leaves_everything_as_it_was() {
        let (_temp, ghyll) = project();
        for (bad, code) in [
            (text("version: 9\n", "one"), "grid-unchanged"),
            (text("", "one # but for a comment"), "grid-unchanged"),
            (text("version: 0\n", "two"), "version-must-be-positive"),
            (
                text("version: 9007199254740992\n", "two"),
                "version-too-large",
            ),
            (text("", ""), "grid-field-missing"),
            ("x".repeat(super::super::MAX_BYTES + 1), "grid-too-large"),
        ] {
            assert_eq!(next(&ghyll, &bad).unwrap_err().code(), code);
            assert_eq!(Grid::versions(&ghyll).unwrap(), [1]);
            assert_eq!(Grid::active_version(&ghyll).unwrap(), 1);
        }
    }

    #[test]
    fn an_interrupted_write_is_completed_or_followed() {
        let (_temp, ghyll) = project();
        ghyll
            .write("grid.v2.yaml", text("version: 2\n", "two"))
            .unwrap();
        assert_eq!(
            next(&ghyll, &text("version: 1\n", "two"))
                .unwrap()
                .grid
                .version,
            2
        );
        ghyll.write("grid.v3.yaml", "arrows: half of").unwrap();
        // Also back to what was in force before.
        assert_eq!(next(&ghyll, &text("", "two")).unwrap().grid.version, 4);
        assert_eq!(
            ghyll.read_to_string("grid.v3.yaml").unwrap(),
            "arrows: half of"
        );

        let temp = tempfile::tempdir().unwrap();
        let ghyll = Dir::open_ambient_dir(temp.path(), ambient_authority()).unwrap();
        assert_eq!(
            next(&ghyll, &text("", "x")).unwrap_err().code(),
            "grid-pointer-missing"
        );
        ghyll
            .write("grid.v1.yaml", text("version: 1\n", "one"))
            .unwrap();
        assert_eq!(next(&ghyll, &text("", "two")).unwrap().grid.version, 2);
    }

    #[test]
    fn a_grid_broken_in_place_can_be_followed() {
        let (_temp, ghyll) = project();
        ghyll.write("grid.v1.yaml", "arrows: [").unwrap();
        let next = next(&ghyll, &text("version: 1\n", "one")).unwrap();
        assert_eq!((next.grid.version, next.before), (2, None));
        assert_eq!(ghyll.read_to_string("grid.v1.yaml").unwrap(), "arrows: [");
    }

    #[test]
    fn versions_end_where_numbers_do() {
        let (_temp, ghyll) = project();
        let last = super::super::MAX_VERSION;
        ghyll
            .write(format!("grid.v{last}.yaml"), text("", "last"))
            .unwrap();
        ghyll.write("grid.current", format!("v{last}\n")).unwrap();
        assert_eq!(Grid::read_active(&ghyll).unwrap().version, last);
        let refused = next(&ghyll, &text("", "more")).unwrap_err();
        assert_eq!(refused.code(), "grid-version-out-of-order");
        ghyll
            .write("grid.v9223372036854775808.yaml", text("", "x"))
            .unwrap();
        assert_eq!(Grid::active_version(&ghyll).unwrap(), last);
        assert_eq!(
            Grid::read_version(&ghyll, 1 << 63).unwrap_err().code(),
            "grid-version-missing"
        );
    }
}
