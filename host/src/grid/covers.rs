//! What a verdict covers: globs from the project's root.
//!
//! A glob that can never match would leave a clause without a subject, and so
//! without a way to go stale, while it looks guarded; a glob out of the project
//! would make a verdict depend on the machine it is read on. Both are mistakes
//! of the grid, told with their line when it is read.
//!
//! A file is covered when a glob matches its whole path (`/` between names,
//! `*` and `?` stay within a name, `**` spans directories) and none with `!`
//! in front does; the order of the list does not matter.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::error::{is_invisible, quoted};
use super::fields::{Check, Map};
use super::yaml::Value;

/// Directories whose files are never covered.
const NEVER_COVERED: [&str; 2] = [".ghyll", ".git"];

/// One entry of a `covers` list.
#[derive(Debug, Clone)]
pub struct Cover {
    /// Whether what it matches is taken out.
    pub exclude: bool,
    /// What it matches.
    pub glob: Glob,
}

impl Cover {
    /// An entry as the grid has it.
    ///
    /// # Errors
    /// In words: what makes it no glob of files in the project.
    pub fn parse(entry: &str) -> Result<Self, String> {
        let (exclude, pattern) = match entry.strip_prefix('!') {
            Some(pattern) => (true, pattern),
            None => (false, entry),
        };
        check(pattern).map_err(|why| format!("{}: {why}", quoted(entry)))?;
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|error| format!("{} is no glob: {}", quoted(entry), error.kind()))?;
        Ok(Self { exclude, glob })
    }
}

/// A `covers` list, ready to be held against paths.
#[derive(Debug, Clone)]
pub struct Covers {
    include: GlobSet,
    exclude: GlobSet,
}

impl Covers {
    /// A list as the grid has it.
    ///
    /// # Errors
    /// In words: the first entry's fault, or that all together are too much.
    pub fn parse(entries: &[String]) -> Result<Self, String> {
        let mut include = GlobSetBuilder::new();
        let mut exclude = GlobSetBuilder::new();
        for entry in entries {
            let cover = Cover::parse(entry)?;
            if cover.exclude {
                exclude.add(cover.glob);
            } else {
                include.add(cover.glob);
            }
        }
        let build = |builder: GlobSetBuilder| {
            builder
                .build()
                .map_err(|error| format!("cannot be matched: {}", error.kind()))
        };
        Ok(Self {
            include: build(include)?,
            exclude: build(exclude)?,
        })
    }

    /// Whether the file at `path`, relative to the project's root and with `/`,
    /// is covered.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        self.include.is_match(path) && !self.exclude.is_match(path)
    }
}

impl Check<'_> {
    /// What verdicts are about; `None` if the map does not say.
    pub(super) fn covers(&mut self, map: Map<'_>) -> Option<Vec<String>> {
        let line = map.raw("covers")?.line;
        let nodes = self.list(
            map,
            "covers",
            "grid-covers-empty",
            "grid-covers-must-be-list",
        );
        let before = self.problems.len();
        let mut covers = Vec::new();
        for node in nodes {
            match &node.value {
                Value::Alias => {}
                Value::Scalar { text, .. } if !node.is_null() && !node.is_bool() => {
                    if let Err(why) = Cover::parse(text) {
                        self.report(node.line, "grid-cover-invalid", why);
                    }
                    covers.push(text.clone());
                }
                _ => {
                    let message = "a glob must be text; quote it".to_owned();
                    self.report(node.line, "grid-cover-invalid", message);
                }
            }
        }
        if self.problems.len() > before || covers.len() < nodes.len() {
            return Some(covers);
        }
        if !covers.is_empty() && covers.iter().all(|entry| entry.starts_with('!')) {
            let message = "nothing is covered: every entry only excludes".to_owned();
            self.report(line, "grid-covers-empty", message);
        } else if let Err(why) = Covers::parse(&covers) {
            self.report(line, "grid-cover-invalid", why);
        }
        Some(covers)
    }
}

/// What the glob library takes, and no file of the project can match.
fn check(pattern: &str) -> Result<(), String> {
    if pattern.trim().is_empty() {
        return Err("is blank".to_owned());
    }
    if pattern.contains(|c: char| c.is_control() || is_invisible(c)) {
        return Err("has control or invisible characters".to_owned());
    }
    let first = pattern.trim_start_matches('{');
    if first.starts_with('/') || first.starts_with("\\\\") || has_drive(first) {
        return Err("leaves the project: a glob starts at the project's root".to_owned());
    }
    // Alternatives `{a,b}` have names of their own.
    let mut names = pattern.split(['/', '{', '}', ',']);
    if names.any(|name| name == "..") {
        return Err("leaves the project: no name may be `..`".to_owned());
    }
    let mut names = pattern.split('/');
    if names.any(|name| name == ".") {
        return Err("matches nothing: write it without `.`".to_owned());
    }
    if pattern.contains("//") {
        return Err("matches nothing: there is an empty name between two `/`".to_owned());
    }
    if let Some(directory) = pattern.strip_suffix('/') {
        return Err(format!(
            "matches no file: for all files below write {}",
            quoted(&format!("{directory}/**"))
        ));
    }
    let root = pattern.split('/').next().unwrap_or_default();
    if NEVER_COVERED.contains(&root) {
        return Err(format!("matches nothing: {root} is never covered"));
    }
    Ok(())
}

/// `C:` and the like, which Windows takes for a place of its own.
fn has_drive(pattern: &str) -> bool {
    let mut chars = pattern.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_says_which_files_are_covered() {
        let entries = ["src/**/*.rs", "docs/**", "a?.txt", "!src/gen/**", "\\!odd"];
        let covers = Covers::parse(&entries.map(str::to_owned)).unwrap();
        for path in [
            "src/a.rs",
            "src/deep/er/a.rs",
            "docs/x",
            "docs/.hidden",
            "docs/a/b",
            "ab.txt",
            "!odd",
        ] {
            assert!(covers.matches(path), "{path}");
        }
        for path in [
            "src/a.c",
            "src/gen/a.rs",
            "src/gen/deep/a.rs",
            "docs",
            "x/docs/y",
            "a/.txt",
            "odd",
        ] {
            assert!(!covers.matches(path), "{path}");
        }
        // An exclusion holds wherever it stands.
        let covers = Covers::parse(&["!*.md".to_owned(), "*".to_owned()]).unwrap();
        assert!(covers.matches("a.rs") && !covers.matches("a.md") && !covers.matches("d/a.rs"));
    }

    #[test]
    fn a_glob_that_leaves_the_project_or_matches_nothing_is_refused() {
        for bad in [
            "",
            " ",
            "!",
            "! ",
            "[a",
            "{a",
            "a}",
            "a\\",
            "[z-a]",
            "/etc/passwd",
            "!/etc/passwd",
            "{/etc/passwd,a}",
            "\\\\server\\x",
            "C:/x",
            "c:\\x",
            "..",
            "../x",
            "a/../../x",
            "a/..",
            "!../x",
            "{..,a}/x",
            "{a,../b}",
            "./a",
            "a/./b",
            ".",
            "a//b",
            "src/",
            "**/",
            ".git/config",
            ".ghyll/**",
            ".git",
            "a\u{1b}b",
            "a\u{202e}b",
            "a\nb",
        ] {
            let why = Cover::parse(bad).expect_err(bad);
            assert!(
                !why.contains(|c: char| c.is_control() || is_invisible(c)),
                "{why:?}"
            );
        }
        for good in [
            "**",
            "a..b",
            "...",
            ".gitignore",
            "a/{b,c}/*",
            "x/.git*",
            "[ab].c",
            "ä/*",
        ] {
            Cover::parse(good).expect(good);
        }
        assert_eq!(
            Cover::parse("src/").unwrap_err(),
            "\"src/\": matches no file: for all files below write \"src/**\""
        );
    }
}
