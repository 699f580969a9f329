//! The `ghyll` command: parses, drives the library, prints.

#![deny(missing_docs)]
#![deny(unsafe_code)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
