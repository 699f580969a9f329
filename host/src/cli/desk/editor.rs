//! The operator's own editor: to write a note in, and to look at a place.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

use ghyll::codes::EDITOR_FAILED;

use super::Desk;
use crate::cli::Failure;
use crate::cli::op_id::git_config;

/// The most that is read of a note, in bytes: more than any grid allows.
const NOTE_MAX: u64 = 4 << 20;
/// What follows it is no part of the note.
const SCISSORS: &str = "# ------------------------ >8 ------------------------";

/// A program and its arguments in front of the file's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Editor {
    program: String,
    arguments: Vec<String>,
}

impl Editor {
    /// `VISUAL`, else `EDITOR`, else git's `core.editor`, else `vi`.
    pub fn of(root: &Path) -> Self {
        let variable = |name: &&str| std::env::var(name).ok();
        ["VISUAL", "EDITOR"]
            .iter()
            .filter_map(variable)
            .chain(git_config(root, "core.editor"))
            .find_map(|command| Self::parse(&command))
            .unwrap_or_else(|| Self {
                program: "vi".to_owned(),
                arguments: Vec::new(),
            })
    }

    fn parse(command: &str) -> Option<Self> {
        let mut words = shlex::split(command)?.into_iter();
        Some(Self {
            program: words.next()?,
            arguments: words.collect(),
        })
    }

    /// What it is called with to show a file at a line.
    fn at(&self, file: &Path, line: Option<u64>) -> Vec<OsString> {
        let name = Path::new(&self.program)
            .file_stem()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let Some(line) = line else {
            return vec![file.into()];
        };
        let mut with_line = file.as_os_str().to_owned();
        with_line.push(format!(":{line}"));
        match name {
            "code" | "code-insiders" | "codium" | "cursor" => vec!["--goto".into(), with_line],
            "hx" | "helix" | "subl" | "zed" => vec![with_line],
            _ => vec![format!("+{line}").into(), file.into()],
        }
    }

    /// Runs it on the terminal, which the reader lends meanwhile.
    fn run<'a>(&self, desk: &mut dyn Desk<'a>, files: &[OsString]) -> Result<(), Failure> {
        desk.step_aside(&mut || {
            let mut command = Command::new(&self.program);
            let status = command.args(&self.arguments).args(files).status()?;
            if status.success() {
                Ok(())
            } else {
                Err(std::io::Error::other(status.to_string()))
            }
        })
        .map_err(|e| Failure::new(EDITOR_FAILED, format!("{}: {e}", self.program)))
    }

    /// Shows a file of the project at a line.
    ///
    /// # Errors
    /// `editor-failed`.
    pub fn open<'a>(
        &self,
        desk: &mut dyn Desk<'a>,
        file: &Path,
        line: Option<u64>,
    ) -> Result<(), Failure> {
        self.run(desk, &self.at(file, line))
    }

    /// A note written in it. `draft` is there already; `comments` stand below,
    /// as git puts them below a commit's message.
    ///
    /// # Errors
    /// `editor-failed`; then nothing is taken.
    pub fn note<'a>(
        &self,
        desk: &mut dyn Desk<'a>,
        draft: &str,
        comments: &[String],
    ) -> Result<String, Failure> {
        let mut file = tempfile::Builder::new()
            .prefix("note-")
            .suffix(".txt")
            .tempfile()?;
        file.write_all(template(draft, comments).as_bytes())?;
        let path = file.into_temp_path();
        self.run(desk, &[path.as_os_str().to_owned()])?;
        // Read anew, for an editor may have put another file in its place.
        let fail = |why: String| Failure::new(EDITOR_FAILED, why);
        let mut bytes = Vec::new();
        std::fs::File::open(&path)?
            .take(NOTE_MAX + 1)
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 > NOTE_MAX {
            return Err(fail(format!("the note is larger than {NOTE_MAX} bytes")));
        }
        let text = String::from_utf8(bytes).map_err(|_| fail("the note is not UTF-8".into()))?;
        Ok(written(&text))
    }
}

fn template(draft: &str, comments: &[String]) -> String {
    let mut text = format!(
        "{draft}\n{SCISSORS}\n# The note stands above this line; what is below is left out.\n#\n"
    );
    for line in comments {
        text.push_str(format!("# {line}").trim_end());
        text.push('\n');
    }
    text
}

/// What was written above the comments.
fn written(text: &str) -> String {
    let above: Vec<&str> = text.lines().take_while(|line| *line != SCISSORS).collect();
    above.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comments_are_no_part_of_the_note_and_a_heading_in_it_is() {
        let text = template("# Why\nso", &["Every ending".to_owned(), String::new()]);
        insta::assert_snapshot!(text);
        assert_eq!(written(&text), "# Why\nso");
        assert_eq!(written("put anew"), "put anew");
    }

    #[test]
    fn each_editor_is_told_the_line_in_its_own_way() {
        let at = |editor: &str, line| {
            let editor = Editor::parse(editor).unwrap();
            let words = editor.at(Path::new("a.rs"), line);
            let words: Vec<_> = words.iter().map(|w| w.to_str().unwrap()).collect();
            words.join(" ")
        };
        assert_eq!(at("vim -f", Some(3)), "+3 a.rs");
        assert_eq!(at("/usr/bin/code --wait", Some(3)), "--goto a.rs:3");
        assert_eq!(at("hx", Some(3)), "a.rs:3");
        assert_eq!(at("nano", None), "a.rs");
        assert_eq!(Editor::parse(" "), None);
    }
}
