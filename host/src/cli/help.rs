//! The command line as it explains itself: examples, topics, and no option
//! where it does nothing.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Arg, ArgAction, Command, CommandFactory, value_parser};

use super::{Cli, Failure, Output};

/// Colours of help: what is typed, and what stands for something else.
const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Green.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Commands, by their names from the first on, with the options of all that do
/// nothing there.
const NOTHING: [(&[&str], &[&str]); 9] = [
    (&["demo"], &["dir"]),
    (&["explain"], &["dir"]),
    (&["component"], &["dir"]),
    (&["grid", "check"], &["dir"]),
    (&["grid", "schema"], &["dir"]),
    (&["man"], &["json"]),
    (&["completions"], &["dir", "json"]),
    (&["mcp"], &["json"]),
    (&["engine", "checkpoint"], &["json"]),
];

/// Commands with examples.
const EXAMPLES: [(&[&str], &str); 12] = [
    (
        &["init"],
        "ghyll init                  write a commented skeleton of a grid
ghyll init --example        start with the sample shop
ghyll init attest --op-id alice@example.com",
    ),
    (
        &["run"],
        "ghyll run --op-id alice@example.com
ghyll run --record morning.rhai     write the session as a script",
    ),
    (
        &["dispatch"],
        "ghyll dispatch A-checkout
ghyll dispatch A-checkout --wait 600 --json
echo '{\"C1\":{\"locations\":[\"src/a.rs:3-9\"]}}' | ghyll dispatch A-checkout --evidence -",
    ),
    (
        &["attest"],
        "ghyll attest A-checkout/C1 pass --op-id alice@example.com
ghyll attest A-checkout/C2 fail --inspected features/payment.feature:42-50
ghyll attest A-checkout/C3 insufficient-basis --residue 'the glossary is missing'
ghyll attest A-checkout/C3 accepted-risk --residue @why.txt",
    ),
    (
        &["attestations"],
        "ghyll attestations A-checkout -n 10
ghyll attestations --by alice@example.com --since 2026-01-31 --verdict fail
ghyll attestations --json | jq '.[].verdict'",
    ),
    (
        &["show"],
        "ghyll show A-checkout/C1          the newest verdict on a clause
ghyll show A-checkout/C1@2        that of its second round",
    ),
    (
        &["check"],
        "ghyll check
ghyll check A-checkout --no-run
ghyll check --format junit > ghyll.xml",
    ),
    (
        &["subject"],
        "ghyll subject A-checkout | sha256sum -c
ghyll subject A-checkout/C1 --changed",
    ),
    (
        &["grid", "next"],
        "ghyll grid show > next.yaml && $EDITOR next.yaml
ghyll grid diff next.yaml
ghyll grid next next.yaml",
    ),
    (
        &["replay"],
        "ghyll replay scripts/*.rhai --junit replay.xml
ghyll replay a.rhai --clock 2026-01-01T00:00:00Z --seed 1 --expect golden",
    ),
    (
        &["completions"],
        "ghyll completions bash > ~/.local/share/bash-completion/completions/ghyll
ghyll completions zsh > \"${fpath[1]}/_ghyll\"
ghyll completions fish > ~/.config/fish/completions/ghyll.fish",
    ),
    (
        &["engine", "verify-attestations"],
        "ghyll engine verify-attestations
ghyll engine verify-attestations --checkpoint kept-elsewhere.json --json",
    ),
];

/// What is explained and is no command: its name, in one line, and whole.
const TOPICS: [(&str, &str, &str); 3] = [
    (
        "exit-codes",
        "What the exit codes mean",
        "  0  done; or a verdict stands, whatever became of what is printed of it
  1  the answer is no: an arrow is not complete, verification failed, an
     expectation of a script failed
  2  wrong usage
  3  refused, or the environment is broken: the code is printed as
     error[<code>], and `ghyll explain CODE` says what to do
  128 and the number of a signal that ended it, as a shell has it",
    ),
    (
        "environment",
        "The variables that are read",
        "  GHYLL_OP_ID          who answers, where --op-id does not say so
  GHYLL_TRUST          projects of other users to be trusted, separated as PATH is
  GHYLL_PAGER, PAGER   turns the pages of long output on a terminal; `cat`, or
                       empty, is none; less by default
  VISUAL, EDITOR       writes notes and opens places; else git's core.editor,
                       else vi
  GHYLL_MODEL_URL, GHYLL_MODEL_NAME, GHYLL_MODEL_API_KEY
                       the model that chat lines go to
  GHYLL_LOG            what ghyll tells of what it does, as --log has it
  NO_COLOR             no colour, whatever it is set to; --color always all the
                       same
  TERM                 where it is dumb, lines are not edited and pages not turned",
    ),
    (
        "scripting",
        "How to call ghyll from scripts and CI",
        "Data goes to standard output, everything else to standard error, and with
--json data is one JSON value. What is piped is not broken into lines and has
times to the second; nothing is asked where standard input is no terminal but in
`ghyll run`, which ends at the first line that is refused.

  ghyll check --format github          hold a merge back (exit 1)
  ghyll dispatch A --wait 600 --json   ask, and wait until it is answered
  ghyll attest A/C1 pass --op-id ID    one verdict, without a question
  ghyll replay answers.rhai            operators written down

Codes are stable: match on error[<code>], not on the words behind it.",
    ),
];

/// The whole command line.
pub fn command() -> Command {
    let mut command = Cli::command().styles(STYLES);
    for (name, about, whole) in TOPICS {
        command = command.subcommand(
            Command::new(name)
                .about(about)
                .long_about(format!("{about}\n\n{whole}"))
                .hide(true)
                .disable_help_flag(true)
                .help_template("{about}\n")
                .arg(nothing("dir"))
                .arg(nothing("json")),
        );
    }
    for (names, options) in NOTHING {
        let add = |command: Command| {
            let options = options.iter();
            options.fold(command, |command, name| command.arg(nothing(name)))
        };
        command = at(command, names, &add);
    }
    for (names, examples) in EXAMPLES {
        let examples = examples.lines().map(|line| format!("  {line}\n"));
        let examples = format!("Examples:\n{}", examples.collect::<String>().trim_end());
        command = at(command, names, &|command| {
            command.after_long_help(examples.clone())
        });
    }
    let topics = TOPICS.map(|(name, about, _)| format!("  ghyll help {name:<12}  {about}"));
    command.after_help(format!("Topics:\n{}", topics.join("\n")))
}

/// An option that is taken and does nothing, so it is not offered.
fn nothing(name: &'static str) -> Arg {
    let option = Arg::new(name).long(name).hide(true);
    match name {
        "json" => option.action(ArgAction::SetTrue),
        // The same kind of value as where it does something: clap hands it up.
        _ => option.num_args(1).value_parser(value_parser!(PathBuf)),
    }
}

/// Changes the command that goes by these names, if there is one.
fn at(command: Command, names: &[&str], change: &dyn Fn(Command) -> Command) -> Command {
    match names.split_first() {
        None => change(command),
        Some((name, rest)) if command.find_subcommand(name).is_some() => {
            command.mut_subcommand(name, |command| at(command, rest, change))
        }
        Some(_) => command,
    }
}

/// Explains a topic.
pub fn topic(out: &Output, name: &str) -> Result<u8, Failure> {
    if let Some((_, about, whole)) = TOPICS.iter().find(|(topic, ..)| *topic == name) {
        out.paged(|| Ok(out.lines(&format!("{about}\n\n{whole}"))?))?;
    }
    Ok(0)
}

/// The topic that a command line asks for, if it does.
pub fn asked(matches: &clap::ArgMatches) -> Option<&'static str> {
    let asked = matches.subcommand_name()?;
    let mut names = TOPICS.iter().map(|(name, ..)| *name);
    names.find(|name| *name == asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'c>(command: &'c Command, names: &[&str]) -> &'c Command {
        names.iter().fold(command, |command, name| {
            command.find_subcommand(name).expect(name)
        })
    }

    #[test]
    fn the_command_line_is_sound_and_what_is_said_of_it_is_about_commands_there_are() {
        let command = command();
        command.clone().debug_assert();
        for names in NOTHING.map(|(names, _)| names) {
            find(&command, names);
        }
        for names in EXAMPLES.map(|(names, _)| names) {
            find(&command, names);
        }
    }

    #[test]
    fn examples_are_calls_that_the_command_line_takes() {
        for (_, examples) in EXAMPLES {
            for line in examples.lines().filter(|line| !line.contains('|')) {
                // What follows three blanks or more explains.
                let call = line.split("   ").next().expect("a call");
                let call = call.split(" > ").next().expect("a call");
                let words = shlex::split(call).expect(call);
                if words.first().is_some_and(|word| word == "ghyll") {
                    let parsed = command().try_get_matches_from(&words);
                    assert!(parsed.is_ok(), "{call}: {}", parsed.unwrap_err());
                }
            }
        }
    }

    #[test]
    fn an_option_that_does_nothing_is_not_offered_and_taken_all_the_same() {
        let mut command = command();
        command.build();
        let help = |names: &[&str]| find(&command, names).clone().render_long_help().to_string();
        assert!(!help(&["explain"]).contains("--dir"));
        assert!(help(&["explain"]).contains("--json"));
        assert!(!help(&["man"]).contains("--json"));
        assert!(help(&["status"]).contains("--dir"));
        let parsed = command.try_get_matches_from(["ghyll", "explain", "--dir", "x", "usage"]);
        assert!(parsed.is_ok());
    }
}
