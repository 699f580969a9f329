//! A terminal to test on: the binary on one side, a screen on the other.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// How long anything may take to show.
const PATIENCE: Duration = Duration::from_secs(30);
/// High enough that nothing scrolls away.
const ROWS: u16 = 400;
/// As wide as a terminal is at first.
pub const COLUMNS: u16 = 80;

/// The binary.
pub fn ghyll() -> PathBuf {
    ghyll_tests::runtimes::ghyll()
}

/// One arrow of three attested clauses.
const GRID: &str = "\
version: 1
arrows:
  - id: A-checkout
    source-role: analyst
    target-role: architect
    stratum: behaviour
    context: checkout
    clauses:
      - id: C1
        concept: Every way a checkout can end is described
        eval: attested
      - id: C2
        concept: The payment scenarios name the amounts they are about
        eval: attested
      - id: C3
        concept: Nothing in the features contradicts the glossary
        eval: attested
";

/// A project with that grid, and a file to look at.
pub fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let grid = dir.path().join("grid.yaml");
    std::fs::write(&grid, GRID).unwrap();
    let mut init = Command::new(ghyll());
    init.arg("--dir")
        .arg(dir.path())
        .arg("init")
        .arg("--grid")
        .arg(&grid);
    assert!(init.output().unwrap().status.success());
    std::fs::remove_file(grid).unwrap();
    std::fs::create_dir(dir.path().join("features")).unwrap();
    std::fs::write(
        dir.path().join("features/payment.feature"),
        "line\n".repeat(60),
    )
    .unwrap();
    dir
}

/// The lines on record.
pub fn records(project: &Path) -> Vec<serde_json::Value> {
    let flat = std::fs::read_to_string(project.join(".ghyll/attestations.jsonl"));
    flat.unwrap_or_default()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A field of each line on record.
pub fn fields(project: &Path, field: &str) -> Vec<String> {
    records(project)
        .iter()
        .map(|line| line[field].as_str().unwrap().to_owned())
        .collect()
}

struct Screen {
    parser: vt100::Parser,
    /// Bytes shown so far.
    bytes: Vec<u8>,
}

/// A session on a terminal.
pub struct Pane {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    keys: Option<Box<dyn Write + Send>>,
    screen: Arc<Mutex<Screen>>,
    /// How much was shown when something was last typed.
    mark: usize,
    root: String,
}

impl Pane {
    /// `ghyll demo`, which shows the way to its project.
    pub fn demo() -> Self {
        Self::start(
            CommandBuilder::new(ghyll()),
            &["demo"],
            "<nowhere>".to_owned(),
        )
    }

    /// A shell in a directory, that looks for programs in another first.
    pub fn shell(directory: &Path, programs: &Path) -> Self {
        let mut command = CommandBuilder::new("/bin/sh");
        let path = std::env::var("PATH").unwrap_or_default();
        command.cwd(directory);
        command.env("PATH", format!("{}:{path}", programs.display()));
        command.env("PS1", "$ ");
        command.env_remove("ENV");
        Self::start(command, &["-i"], "<nowhere>".to_owned())
    }

    /// `ghyll run` on a project, 80 columns wide.
    pub fn run(project: &Path, arguments: &[&str]) -> Self {
        Self::run_with(project, arguments, &[])
    }

    /// The same with variables in its environment.
    pub fn run_with(project: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = CommandBuilder::new(ghyll());
        command.args(["run", "--dir"]);
        command.arg(project);
        for (name, value) in variables {
            command.env(name, value);
        }
        Self::start(
            command,
            arguments,
            project.canonicalize().unwrap().display().to_string(),
        )
    }

    /// Any command on a project, on a screen of so many rows.
    pub fn low(project: &Path, arguments: &[&str], variables: &[(&str, &str)], rows: u16) -> Self {
        let mut command = CommandBuilder::new(ghyll());
        command.arg("--dir");
        command.arg(project);
        for (name, value) in variables {
            command.env(name, value);
        }
        let root = project.canonicalize().unwrap().display().to_string();
        Self::start_on(command, arguments, root, rows)
    }

    fn start(command: CommandBuilder, arguments: &[&str], root: String) -> Self {
        Self::start_on(command, arguments, root, ROWS)
    }

    fn start_on(mut command: CommandBuilder, arguments: &[&str], root: String, rows: u16) -> Self {
        let size = PtySize {
            rows,
            cols: COLUMNS,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        command.args(arguments);
        command.env("TERM", "xterm");
        // What is offered of git's, or turns pages, is the test's to say.
        if command.get_env("GIT_CONFIG_GLOBAL") == std::env::var_os("GIT_CONFIG_GLOBAL").as_deref()
        {
            command.env("GIT_CONFIG_GLOBAL", "/dev/null");
        }
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        command.env_remove("GHYLL_OP_ID");
        for pager in ["GHYLL_PAGER", "PAGER"] {
            if command.get_env(pager) == std::env::var_os(pager).as_deref() {
                command.env(pager, "");
            }
        }
        if command.get_env("NO_COLOR") != Some(std::ffi::OsStr::new("1")) {
            command.env_remove("NO_COLOR");
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let keys = pair.master.take_writer().unwrap();
        let mut output = pair.master.try_clone_reader().unwrap();
        let screen = Arc::new(Mutex::new(Screen {
            parser: vt100::Parser::new(rows, COLUMNS, 0),
            bytes: Vec::new(),
        }));
        let shown = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = output.read(&mut buffer) {
                let mut screen = shown.lock().unwrap();
                screen.parser.process(&buffer[..n]);
                screen.bytes.extend_from_slice(&buffer[..n]);
            }
        });
        let (master, keys) = (Some(pair.master), Some(keys));
        Self {
            child,
            master,
            keys,
            screen,
            mark: 0,
            root,
        }
    }

    /// Types.
    pub fn keys(&mut self, keys: &str) {
        self.mark = self.screen.lock().unwrap().bytes.len();
        let typist = self.keys.as_mut().unwrap();
        typist.write_all(keys.as_bytes()).unwrap();
        typist.flush().unwrap();
    }

    /// Types a line, once a prompt is there for it.
    pub fn answer(&mut self, prompt: &str, line: &str) {
        self.prompt(prompt);
        self.keys(&format!("{line}\r"));
    }

    /// Waits for a prompt that was shown since something was last typed, and
    /// that waits for a line.
    pub fn prompt(&self, prompt: &str) {
        self.wait(prompt, |screen, new| {
            let (row, _) = screen.cursor_position();
            let line = screen.rows(0, COLUMNS).nth(row.into()).unwrap_or_default();
            line.trim_end() == prompt.trim_end() && new.contains(prompt.trim_end())
        });
    }

    /// Waits for a text that was shown since something was last typed.
    pub fn sees(&self, text: &str) {
        self.wait(text, |_, new| new.contains(text));
    }

    fn wait(&self, what: &str, there: impl Fn(&vt100::Screen, &str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            {
                let screen = self.screen.lock().unwrap();
                let new = String::from_utf8_lossy(&screen.bytes[self.mark..]);
                if there(screen.parser.screen(), &new) {
                    return;
                }
            }
            assert!(
                Instant::now() < deadline,
                "never saw {what:?}:\n{}",
                self.text()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What is on the screen, without what differs from run to run.
    pub fn text(&self) -> String {
        let contents = self.screen.lock().unwrap().parser.screen().contents();
        let text: Vec<String> = contents
            .replace(&self.root, "<project>")
            .lines()
            .map(redact)
            .collect();
        text.join("\n").trim_end().to_owned()
    }

    /// Looks at the screen itself.
    pub fn screen<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.screen.lock().unwrap().parser.screen())
    }

    /// All that was shown, escape sequences too.
    pub fn bytes(&self) -> Vec<u8> {
        self.screen.lock().unwrap().bytes.clone()
    }

    /// Makes the window another width.
    pub fn resize(&mut self, columns: u16) {
        let size = PtySize {
            rows: ROWS,
            cols: columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        self.screen
            .lock()
            .unwrap()
            .parser
            .screen_mut()
            .set_size(ROWS, columns);
        self.master.as_ref().unwrap().resize(size).unwrap();
    }

    /// Sends a signal to the session.
    pub fn signal(&self, signal: &str) {
        let pid = self.child.process_id().unwrap().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &pid])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Closes the terminal's window.
    pub fn close(&mut self) {
        self.keys = None;
        self.master = None;
    }

    /// Waits for the session to end; its exit status.
    pub fn exit_code(&mut self) -> u32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            assert!(Instant::now() < deadline, "never ended:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// A line without its ids and timestamps.
fn redact(line: &str) -> String {
    let is_id = |word: &str| {
        word.len() == 36
            && word.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    };
    let is_time = |word: &str| word.len() == 30 && word.ends_with('Z') && word.contains('T');
    let mut redacted = String::new();
    let mut word = String::new();
    for c in line.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.') {
            word.push(c);
            continue;
        }
        match word.as_str() {
            id if is_id(id) => redacted.push_str("<id>"),
            time if is_time(time) => redacted.push_str("<time>"),
            other => redacted.push_str(other),
        }
        word.clear();
        redacted.push(c);
    }
    redacted.trim_end().to_owned()
}
