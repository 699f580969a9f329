//! The `ghyll` command: parses, drives the library, prints.

#![deny(missing_docs)]
#![deny(unsafe_code)]

mod cli;

/// Counts what is allocated: the memory of scripts is held to a limit by it.
#[global_allocator]
static HEAP: cap::Cap<std::alloc::System> = cap::Cap::new(std::alloc::System, usize::MAX);

/// Bytes allocated now.
fn heap() -> usize {
    HEAP.allocated()
}

fn main() -> std::process::ExitCode {
    match ghyll::runtime::guard::serve() {
        Some(code) => code,
        None => cli::main(),
    }
}
