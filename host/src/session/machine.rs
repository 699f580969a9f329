//! Machine clauses: a command decides, by its exit code and within its time.
//!
//! The command is an argument vector, never a shell line; it runs in the
//! project's directory, in a process group of its own, so that all it started
//! ends with it when its time is over.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

/// How much of what a command says is kept, in bytes; the end of it.
const OUTPUT_KEPT: usize = 2048;

/// How long the pipes may outlive the command.
const PIPES: Duration = Duration::from_secs(1);

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineVerdict {
    /// Whether it exited with 0 in time.
    pub passed: bool,
    /// How it ended, and the end of what it said.
    pub detail: String,
}

/// Runs `argv` in `dir` for at most `timeout`.
///
/// # Errors
/// Only if no command can be run at all; a command that cannot be started
/// is a verdict.
pub fn run(argv: &[String], dir: &Path, timeout: Duration) -> io::Result<MachineVerdict> {
    let Some((program, args)) = argv.split_first() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut command = Command::new(program);
        command.args(args).current_dir(dir).kill_on_drop(true);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        command.process_group(0);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(e) => {
                let detail = format!("{program}: cannot be started: {e}");
                return Ok(MachineVerdict {
                    passed: false,
                    detail,
                });
            }
        };
        let said = tokio::spawn(tail(child.stdout.take()));
        let complained = tokio::spawn(tail(child.stderr.take()));
        let Ok(status) = tokio::time::timeout(timeout, child.wait()).await else {
            end_group(&mut child).await;
            let detail = format!("{program}: not done after {} s", timeout.as_secs_f64());
            return Ok(MachineVerdict {
                passed: false,
                detail,
            });
        };
        let status = status?;
        // Something it left running may hold the pipes: not waited for long.
        let rest = |task: JoinHandle<String>| async {
            tokio::time::timeout(PIPES, task)
                .await
                .ok()
                .and_then(Result::ok)
                .unwrap_or_default()
        };
        let (said, complained): (String, String) = (rest(said).await, rest(complained).await);
        let mut detail = format!("{program}: {status}");
        for text in [said, complained] {
            if !text.trim().is_empty() {
                detail.push('\n');
                detail.push_str(text.trim_end());
            }
        }
        Ok(MachineVerdict {
            passed: status.success(),
            detail,
        })
    })
}

/// Ends the command and everything it started.
async fn end_group(child: &mut Child) {
    #[cfg(unix)]
    if let Some(pid) = child.id() {
        // No safe call for it in the standard library; the tool is everywhere.
        let group = format!("-{pid}");
        let _ = Command::new("kill")
            .args(["-KILL", "--", &group])
            .status()
            .await;
    }
    let _ = child.kill().await;
}

/// The end of what comes out of a pipe, all of which is read.
async fn tail(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut pipe) = pipe else {
        return String::new();
    };
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(read) = pipe.read(&mut buffer).await {
        if read == 0 {
            break;
        }
        kept.extend_from_slice(buffer.get(..read).unwrap_or_default());
        let excess = kept.len().saturating_sub(OUTPUT_KEPT);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(line: &str, timeout: Duration) -> MachineVerdict {
        let argv = ["sh", "-c", line].map(str::to_owned);
        run(&argv, Path::new("/"), timeout).unwrap()
    }

    #[test]
    fn the_exit_code_decides_and_the_words_are_kept() {
        let verdict = sh("echo out; echo err >&2; exit 3", Duration::from_secs(10));
        assert!(!verdict.passed);
        assert_eq!(verdict.detail, "sh: exit status: 3\nout\nerr");
        assert!(sh("exit 0", Duration::from_secs(10)).passed);
    }

    #[test]
    fn a_command_and_its_children_end_with_their_time() {
        let started = std::time::Instant::now();
        let verdict = sh("sleep 60 & sleep 60", Duration::from_millis(200));
        assert_eq!(verdict.detail, "sh: not done after 0.2 s");
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_missing_program_is_a_verdict() {
        let argv = ["no-such-program-here".to_owned()];
        let verdict = run(&argv, Path::new("/"), Duration::from_secs(1)).unwrap();
        assert!(!verdict.passed);
        assert!(
            verdict
                .detail
                .starts_with("no-such-program-here: cannot be started")
        );
    }
}
