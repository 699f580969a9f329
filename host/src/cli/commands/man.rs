//! `ghyll man [DIR]`: the manual, one page a command, made of what the command
//! line says of itself.

use std::path::Path;

use clap_mangen::Man;
use ghyll::files::output;
use ghyll::text::count;

use crate::cli::output::clean;
use crate::cli::{Failure, Output};

pub fn run(out: &Output, mut command: clap::Command, dir: Option<&Path>) -> Result<u8, Failure> {
    // Gives each command its whole name, and what holds for all of them.
    command.build();
    let Some(dir) = dir else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        out.raw(&page)?;
        return Ok(0);
    };
    std::fs::create_dir_all(dir).map_err(|error| failure(dir, &error))?;
    let pages = write(dir, &command)?;
    let path = clean(&dir.to_string_lossy());
    out.line(format!("{path}: {}", count(pages, "page")))?;
    Ok(0)
}

/// Writes the page of a command and those of what is below it.
fn write(dir: &Path, command: &clap::Command) -> Result<usize, Failure> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let path = dir.join(format!("{name}.1"));
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    output::write(&path, &page).map_err(|error| failure(&path, &error))?;
    let mut pages = 1;
    for below in command.get_subcommands() {
        if below.get_name() != "help" && !below.is_hide_set() {
            pages += write(dir, below)?;
        }
    }
    Ok(pages)
}

fn failure(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        "output-write-failed",
        format!("{}: {error}", path.display()),
    )
}
