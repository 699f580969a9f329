//! What is printed where there is no [`Output`](super::Output) to print it: the
//! log, argument errors, panics. It is cleaned like everything else.

use std::io::{self, Write};

use super::{ALARM, Text, text};

/// As [`Output::line`](super::Output::line), from where there is no [`Output`]; for what is told
/// while something else goes on, which does not end because nobody listens.
pub fn told(text: impl Into<Text>) {
    let _ = writeln!(anstream::stdout(), "{}", text.into().ansi());
}

/// As [`Output::note`](super::Output::note), from where there is no [`Output`].
pub fn note(text: impl Into<Text>) {
    // Nobody is left to be told if this fails.
    let _ = writeln!(anstream::stderr(), "{}", text.into().ansi());
}

/// Standard error for the log: what is written to it is cleaned line by line.
pub fn clean_stderr() -> impl Write {
    struct Clean;
    impl Write for Clean {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            String::from_utf8_lossy(bytes).lines().for_each(note);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            io::stderr().flush()
        }
    }
    Clean
}

/// Prints help, a version or what is wrong with a command line, as clap puts
/// it; the exit code that goes with it. What is wrong may quote an argument,
/// and an argument may be anything.
pub fn arguments(error: &clap::Error) -> u8 {
    if error.use_stderr() {
        error
            .render()
            .to_string()
            .lines()
            .for_each(|line| match line.strip_prefix("error: ") {
                Some(rest) => note(text![Text::styled("error:", ALARM), " ", rest]),
                None => note(line),
            });
    } else {
        // Help and version hold nothing but what is written in this program.
        let _ = write!(anstream::stdout(), "{}", error.render().ansi());
    }
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// Has a panic told like anything else: what it says may quote data.
pub fn tell_panics() {
    std::panic::set_hook(Box::new(|info| {
        note(Text::styled(
            "ghyll has a fault of its own, and stops:",
            ALARM,
        ));
        info.to_string()
            .lines()
            .for_each(|line| note(format!("  {line}")));
        note("  What was recorded stands. Please report this, with the lines above.");
    }));
}
