//! What the system promises, in the operator's words: runs `features/`.
//!
//! `cargo test -p ghyll-tests --test acceptance [-- --name REGEX]`. A step
//! that nobody defined fails the run, as does one that is never reached. With
//! `GHYLL_JUNIT=DIR` the report also goes to `DIR/acceptance.xml`, as JUnit.
//!
//! Every scenario plays on a real project in a directory of its own, and after
//! each of them, whatever it was about, the audit trail is checked from its
//! bytes alone (see [`audit`]).

mod audit;
mod desk;
mod grid;
mod journal;
mod outcomes;
mod producer;
mod program;
mod projects;
mod restarts;
mod scene;
mod turns;

use std::cell::Cell;
use std::fs::{self, File};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use cucumber::event::ScenarioFinished;
use cucumber::writer::{self, Coloring, Stats};
use cucumber::{World as _, WriterExt as _, cli};
use futures::FutureExt as _;

use scene::Scene;

fn main() -> ExitCode {
    // Paths are the workspace's, wherever cargo runs us.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let features = root.join("features");
    let terminal = || writer::Basic::raw(std::io::stdout(), Coloring::Auto, 0).summarized();
    let run = async {
        match std::env::var_os("GHYLL_JUNIT").map(|dir| root.join(dir)) {
            None => run(&features, terminal().normalized()).await,
            Some(dir) => {
                fs::create_dir_all(&dir).expect("the directory for the report");
                let file = File::create(dir.join("acceptance.xml")).expect("the report");
                let junit = writer::JUnit::for_tee(file, 0);
                run(&features, terminal().tee::<Scene, _>(junit).normalized()).await
            }
        }
    };
    futures::executor::block_on(run)
}

async fn run<W>(features: &Path, writer: W) -> ExitCode
where
    W: Stats<Scene> + writer::Normalized + writer::NonTransforming + 'static,
    W::Cli: cli::Args + Default,
{
    let counts = Rc::new(Counts::default());
    let counted = Rc::clone(&counts);
    let writer = Scene::cucumber()
        .max_concurrent_scenarios(1)
        .after(move |_, _, _, finished, scene| {
            let audited = match scene {
                Some(scene) => audit::check(scene),
                None => Ok(()),
            };
            counted.count(finished, audited.is_ok());
            async move { audited.expect("the audit trail is sound") }.boxed_local()
        })
        .with_writer(writer)
        .fail_on_skipped()
        .with_cli(options())
        .run(features)
        .await;
    let (passed, failed) = (counts.passed.get(), counts.failed.get());
    println!(
        "acceptance: {} scenarios: {passed} passed, {failed} failed",
        passed + failed
    );
    // A run of nothing has shown nothing.
    if writer.execution_has_failed() || failed > 0 || passed == 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

#[derive(Default)]
struct Counts {
    passed: Cell<u32>,
    failed: Cell<u32>,
}

impl Counts {
    fn count(&self, finished: &ScenarioFinished, audited: bool) {
        // A scenario that stops at an undefined step has not passed.
        let passed = audited && matches!(finished, ScenarioFinished::StepPassed);
        let count = if passed { &self.passed } else { &self.failed };
        count.set(count.get() + 1);
    }
}

/// Options meant for other test harnesses of the workspace do not stop us.
fn options<P, R, W>() -> cli::Opts<P, R, W>
where
    P: cli::Args + Default,
    R: cli::Args + Default,
    W: cli::Args + Default,
{
    <cli::Opts<P, R, W> as cli::Parser>::try_parse().unwrap_or_else(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        eprintln!("acceptance: options ignored: {}", error.kind());
        cli::Opts::default()
    })
}
