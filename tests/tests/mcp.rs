//! An agent on the official Python SDK works with `ghyll mcp`.

use std::fs;
use std::process::Command;

use ghyll_tests::runtimes;

#[test]
fn an_agent_on_the_official_sdk_asks_is_told_mends_and_asks_again() {
    let Some(python) = runtimes::python_of("mcp") else {
        return runtimes::skip("there is no Python 3");
    };
    let project = tempfile::tempdir().expect("a directory");
    let grid = "version: 1
arrows:
  - id: A
    source-role: analyst
    target-role: architect
    stratum: L0
    context: shop
    clauses:
      - id: M
        concept: it is ready
        eval: machine
        run: [sh, -c, \"test -e ready || { echo not ready yet >&2; exit 3; }\"]
      - id: C
        concept: it is good
        eval: attested
";
    fs::write(project.path().join("grid.yaml"), grid).expect("a grid");
    fs::write(project.path().join("work.txt"), "one\ntwo\n").expect("some work");
    let ghyll = runtimes::ghyll();
    runtimes::succeed(
        Command::new(&ghyll)
            .args(["init", "--grid", "grid.yaml"])
            .current_dir(project.path()),
    );
    let mut agent = Command::new(python);
    agent.arg(runtimes::hosts().join("mcp/agent.py"));
    runtimes::succeed(agent.arg(&ghyll).arg(project.path()));
}
