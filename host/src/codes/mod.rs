//! Every code ghyll answers with: what it means, and what to do about it.
//!
//! A code is public interface: scripts, other hosts and people match on it to
//! the letter. Each stands here once, as a constant with its page, so that an
//! error can say what helps, `ghyll explain` has an answer for whatever was
//! printed, and `docs/codes.md` cannot fall behind. A test reads the sources
//! and fails when a code has no page.

mod agents;
mod asking;
mod grid;
mod models;
mod project;
mod records;
mod scripts;

pub use agents::*;
pub use asking::*;
pub use grid::*;
pub use models::*;
pub use project::*;
pub use records::*;
pub use scripts::*;

use std::fmt::Write;

/// What there is to say about a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Page {
    /// The code.
    pub code: &'static str,
    /// What it means, in one sentence.
    pub meaning: &'static str,
    /// What to do about it, in the operator's words.
    pub hint: &'static str,
}

/// Makes a surface's refusal of each error that has a code.
macro_rules! from_coded {
    ($to:ty: $($error:ty),* $(,)?) => {$(
        impl From<$error> for $to {
            fn from(error: $error) -> Self {
                Self::new(error.code(), &error)
            }
        }
    )*};
}
pub(crate) use from_coded;

/// Constants of codes, and their pages.
macro_rules! pages {
    ($($name:ident = $code:literal: $meaning:literal, $hint:literal;)+) => {
        $(#[doc = $meaning] pub const $name: &str = $code;)+
        /// The pages of the codes above.
        pub(super) const PAGES: &[$crate::codes::Page] = &[
            $($crate::codes::Page { code: $code, meaning: $meaning, hint: $hint },)+
        ];
    };
}
use pages;

/// Groups of codes, as a reader of the documentation looks for them.
const GROUPS: [(&str, &[Page]); 7] = [
    ("The project and its files", project::PAGES),
    ("The grid", grid::PAGES),
    ("Questions and answers", asking::PAGES),
    ("Records and the audit tree", records::PAGES),
    ("Scripts", scripts::PAGES),
    ("Models and chats", models::PAGES),
    ("Agents", agents::PAGES),
];

/// Every page, group by group.
pub fn all() -> impl Iterator<Item = &'static Page> {
    GROUPS.iter().flat_map(|(_, pages)| pages.iter())
}

/// The page of a code; `None` if there is no such code.
pub fn page(code: &str) -> Option<&'static Page> {
    all().find(|page| page.code == code)
}

/// All pages as Markdown: `docs/codes.md`.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Codes\n\nEvery code that ghyll prints as `error[code]`, `warning[code]` or in JSON: \
         what it means, and what to do about it. `ghyll explain CODE` says the same.\n",
    );
    for (title, pages) in GROUPS {
        // Writing to a string does not fail.
        let _ = write!(text, "\n## {title}\n");
        for Page {
            code,
            meaning,
            hint,
        } in pages
        {
            let _ = write!(
                text,
                "\n### `{code}`\n\n{meaning}\n\n**What to do:** {hint}\n"
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    /// Where a code stands in the sources: behind one of these.
    const BEFORE: [&str; 15] = [
        "Failure::new(",
        "Fault::new(",
        "PolicyError::new(",
        "ScriptError::at(position, ",
        "ScriptError::at(Position::NONE, ",
        "Self::at(position, ",
        ".issue(",
        ".warning(",
        ".issue_at(",
        ".report(line, ",
        "self.report(id.line, ",
        "self.refuse(",
        ".refused(",
        "code: ",
        "GridError::yaml(",
    ];

    fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                sources(&path, found);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                found.push(path);
            }
        }
    }

    fn literal(text: &str) -> Option<&str> {
        let (code, _) = text.trim_start().strip_prefix('"')?.split_once('"')?;
        is_code(code).then_some(code)
    }

    fn is_code(text: &str) -> bool {
        text.contains('-')
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    }

    /// The codes in a source file: literals in the body of a `fn code`, behind
    /// what makes an error, and in `error[…]` or `warning[…]`.
    fn codes_in(source: &str, is_grid: bool) -> BTreeSet<String> {
        let source = source.split("#[cfg(test)]\nmod tests").next().unwrap();
        let mut codes = BTreeSet::new();
        for body in source.split("fn code(").skip(1) {
            let body = body.split("\n    }\n").next().unwrap();
            codes.extend(
                body.split('"')
                    .filter(|word| is_code(word))
                    .map(str::to_owned),
            );
        }
        for before in BEFORE {
            for after in source.split(before).skip(1) {
                codes.extend(literal(after).map(str::to_owned));
            }
        }
        for opening in ["error[", "warning["] {
            for after in source.split(opening).skip(1) {
                let code = after.split(']').next().unwrap();
                codes.extend(is_code(code).then(|| code.to_owned()));
            }
        }
        for after in source.split("integer_key!(").skip(1) {
            let Some((_, after)) = after.split_once('"') else {
                continue;
            };
            let name = after.split('"').next().unwrap();
            let ends = ["must-be-integer", "must-be-positive", "too-large"];
            codes.extend(
                ends.map(|end| format!("{name}-{end}"))
                    .into_iter()
                    .filter(|c| is_code(c)),
            );
        }
        if is_grid {
            codes.extend(
                source
                    .split('"')
                    .filter(|word| is_code(word) && word.starts_with("grid-"))
                    .map(str::to_owned),
            );
        }
        codes
    }

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    #[test]
    fn every_code_in_the_sources_has_a_page() {
        let mut files = Vec::new();
        for directory in ["host/src", "guest/src"] {
            sources(&root().join(directory), &mut files);
        }
        let mut found = BTreeSet::new();
        for file in files {
            let name = file.to_str().unwrap();
            if name.contains("/codes/") {
                continue;
            }
            let source = std::fs::read_to_string(&file).unwrap();
            let in_grid = name.contains("host/src/grid/");
            found.extend(codes_in(&source, in_grid));
            if name.ends_with("guest/src/error.rs") {
                let (_, constants) = source.split_once("pub mod codes").unwrap();
                found.extend(
                    constants
                        .split('"')
                        .filter(|word| is_code(word))
                        .map(str::to_owned),
                );
            }
        }
        assert!(found.len() > 90, "only {} codes were found", found.len());
        let without: Vec<_> = found.iter().filter(|code| page(code).is_none()).collect();
        assert!(without.is_empty(), "no page for {without:?}");
    }

    #[test]
    fn the_search_finds_a_code_where_codes_stand() {
        let source = "fn code(&self) -> &str {\n match self { A => \"a-b\", }\n    }\n\
                      Failure::new(\n  \"c-d\", x); note(\"warning[e-f]: x\"); \"not-me\"";
        let found: Vec<_> = codes_in(source, false).into_iter().collect();
        assert_eq!(found, ["a-b", "c-d", "e-f"]);
    }

    #[test]
    fn every_page_says_what_it_means_and_what_to_do_once() {
        let mut seen = BTreeSet::new();
        for page in all() {
            assert!(seen.insert(page.code), "{} is there twice", page.code);
            for text in [page.meaning, page.hint] {
                assert!(
                    text.len() > 12 && text.ends_with('.'),
                    "{}: {text}",
                    page.code
                );
            }
        }
    }

    #[test]
    fn the_documentation_has_the_same_pages() {
        let file = root().join("docs/codes.md");
        if std::env::var_os("GHYLL_WRITE_DOCS").is_some() {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, markdown()).unwrap();
        }
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            written == markdown(),
            "docs/codes.md is behind: GHYLL_WRITE_DOCS=1 cargo test -p ghyll --lib codes"
        );
    }
}
