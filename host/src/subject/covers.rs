//! Which files a verdict is about: a list of globs from the project's root.
//!
//! A file is covered if any glob matches it and none with `!` in front does,
//! in whatever order they stand: an exclusion excludes, and nobody has to know
//! the order to know what was judged. `*` and `?` stay within a name, `**`
//! goes through directories, names that begin with a dot are names like any
//! other, and a file whose name begins with `!` is written `\!`.
//!
//! `.ghyll` at the root and whatever is named `.git`, at any depth, are never
//! covered, whatever the globs say: the record cannot be about itself.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{Candidate, GlobSet, GlobSetBuilder};

use super::error::SubjectError;
use crate::grid::Cover;

/// A list of globs, ready to be asked.
#[derive(Debug, Clone)]
pub struct Covers {
    globs: Vec<String>,
    /// Those without `!`, as they were written.
    included: Vec<String>,
    include: GlobSet,
    exclude: GlobSet,
    /// Directories of which all is excluded.
    closed: GlobSet,
    /// Directories outside of which nothing is covered.
    within: Vec<Vec<u8>>,
}

impl Covers {
    /// Reads a clause's list, in which at least one glob has no `!`.
    ///
    /// # Errors
    /// `subject-glob-invalid`: what no grid would take either, see
    /// [`Cover::parse`].
    pub fn parse(globs: &[String]) -> Result<Self, SubjectError> {
        let mut include = GlobSetBuilder::new();
        let mut exclude = GlobSetBuilder::new();
        let mut closed = GlobSetBuilder::new();
        let (mut included, mut within) = (Vec::new(), Vec::new());
        for entry in globs {
            let parse = |entry: &str| {
                Cover::parse(entry).map_err(|why| SubjectError::GlobInvalid {
                    glob: entry.to_owned(),
                    why,
                })
            };
            let cover = parse(entry)?;
            if cover.exclude {
                exclude.add(cover.glob);
                if let Some(all_of) = entry.strip_suffix("/**") {
                    closed.add(parse(all_of)?.glob);
                }
            } else {
                within.push(fixed_directory(entry));
                included.push(entry.clone());
                include.add(cover.glob);
            }
        }
        if included.is_empty() {
            return Err(SubjectError::GlobInvalid {
                glob: globs.join(", "),
                why: "nothing is covered: every entry only excludes".to_owned(),
            });
        }
        let build = |set: GlobSetBuilder| {
            set.build().map_err(|e| SubjectError::GlobInvalid {
                glob: globs.join(", "),
                why: format!("cannot be matched: {}", e.kind()),
            })
        };
        Ok(Self {
            globs: globs.to_vec(),
            included,
            include: build(include)?,
            exclude: build(exclude)?,
            closed: build(closed)?,
            within,
        })
    }

    /// The list as it was given.
    #[must_use]
    pub fn globs(&self) -> &[String] {
        &self.globs
    }

    /// The globs of the list that cover something, those without `!`.
    pub(super) fn included(&self) -> &[String] {
        &self.included
    }

    /// Whether a file at this path is covered. `met` is told which of
    /// [`Covers::included`] matched, until each has.
    pub(super) fn covers(&self, path: &[u8], met: &mut Met) -> bool {
        let candidate = Candidate::new(as_path(path));
        let covered = self.include.is_match_candidate(&candidate)
            && !self.exclude.is_match_candidate(&candidate);
        if covered && met.0.contains(&false) {
            for glob in self.include.matches_candidate(&candidate) {
                if let Some(met) = met.0.get_mut(glob) {
                    *met = true;
                }
            }
        }
        covered
    }

    /// Whether anything below this directory may be covered.
    pub(super) fn may_be_below(&self, dir: &[u8]) -> bool {
        let reaches = |within: &Vec<u8>| is_below(within, dir) || is_below(dir, within);
        self.within.iter().any(reaches) && !self.closed.is_match(as_path(dir))
    }
}

/// Which globs matched something.
#[derive(Debug, Clone)]
pub(super) struct Met(pub(super) Vec<bool>);

impl Met {
    pub(super) fn none(covers: &Covers) -> Self {
        Self(vec![false; covers.included.len()])
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (met, other) in self.0.iter_mut().zip(&other.0) {
            *met |= other;
        }
    }
}

pub(super) fn as_path(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

/// The directory that a glob cannot match anything outside of.
fn fixed_directory(glob: &str) -> Vec<u8> {
    let special = |part: &&str| !part.contains(['*', '?', '[', ']', '{', '}', '\\']);
    let parent = glob.rsplit_once('/').map_or("", |(parent, _)| parent);
    let fixed: Vec<&str> = parent.split('/').take_while(special).collect();
    fixed.join("/").into_bytes()
}

/// Whether `path` is `dir` or below it.
fn is_below(path: &[u8], dir: &[u8]) -> bool {
    dir.is_empty()
        || path
            .strip_prefix(dir)
            .is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(globs: &[&str]) -> Result<Covers, SubjectError> {
        let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
        Covers::parse(&globs)
    }

    fn covered(globs: &[&str], path: &str) -> bool {
        let covers = covers(globs).unwrap();
        covers.covers(path.as_bytes(), &mut Met::none(&covers))
    }

    #[test]
    fn an_exclusion_excludes_wherever_it_stands() {
        for globs in [["src/**", "!src/gen/**"], ["!src/gen/**", "src/**"]] {
            assert!(covered(&globs, "src/a.rs"));
            assert!(covered(&globs, "src/.hidden/b"));
            assert!(!covered(&globs, "src/gen/a.rs"));
            assert!(!covered(&globs, "lib/a.rs"));
        }
    }

    #[test]
    fn a_star_stays_within_a_name() {
        assert!(covered(&["src/*.rs"], "src/a.rs"));
        assert!(!covered(&["src/*.rs"], "src/a/b.rs"));
        assert!(covered(&["**/*.rs"], "b.rs"));
        assert!(covered(&["\\!odd"], "!odd"));
    }

    #[test]
    fn what_no_file_can_match_is_refused() {
        for glob in ["", "!", "/etc/passwd", "../x", "!../x", "a/", "a["] {
            let error = covers(&["src/**", glob]).unwrap_err();
            assert_eq!(error.code(), "subject-glob-invalid", "{glob:?}");
        }
        assert_eq!(covers(&["!a"]).unwrap_err().code(), "subject-glob-invalid");
        assert_eq!(covers(&[]).unwrap_err().code(), "subject-glob-invalid");
    }

    #[test]
    fn a_directory_is_entered_only_if_something_in_it_may_be_covered() {
        let covers = covers(&[
            "src/a/*.rs",
            "docs/{x,y}/**",
            "!src/a/gen/**",
            "!**/target/**",
        ])
        .unwrap();
        for (dir, entered) in [
            ("", true),
            ("src", true),
            ("src/a", true),
            ("src/b", false),
            ("src/ab", false),
            ("docs", true),
            ("docs/x", true),
            ("docs/target", false),
            ("src/a/gen", false),
            ("lib", false),
        ] {
            assert_eq!(covers.may_be_below(dir.as_bytes()), entered, "{dir}");
        }
    }
}
