//! An operator at a REPL: through a pipe, or at a pseudo-terminal.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use super::crowd::{STUCK, codes, lock, read_all, read_chunks, status_of};
use super::table::{ARROWS, Ack, Table, somebody};
use crate::survive::Dice;

const GHYLL: &str = "ghyll>";
const VERDICT: &str = "Verdict [p/f/i/s]:";
const WHERE: &str = "Where, comma-separated:";
const NOTE: &str = "Note:";
const DECIDE: &str = "Decide, 1 or 2:";
const PROMPTS: [&str; 5] = [GHYLL, VERDICT, WHERE, NOTE, DECIDE];

/// What a session may be refused that nothing went wrong about.
const OVERTAKEN: [&str; 8] = [
    "attestation-no-pass-for-ref",
    "attestation-no-longer-asked",
    "attestation-asked-anew",
    "attestation-subject-changed",
    "escalation-due",
    "escalation-not-due",
    "role-context-busy",
    "modal-drain-cap-exceeded",
];

/// What the session shows, and waits for.
trait Talk {
    /// All that was shown.
    fn shown(&self) -> String;
    /// The prompt that waits for a line, shown since something was last sent.
    fn waits(&self) -> Option<&'static str>;
    /// Sends a line.
    fn send(&mut self, line: &str);
}

/// What arrives, from the bytes on that something was last sent at.
#[derive(Default)]
struct Heard {
    bytes: Vec<u8>,
    mark: usize,
}

struct Pipe {
    heard: Arc<Mutex<Heard>>,
    to: std::process::ChildStdin,
}

impl Talk for Pipe {
    fn shown(&self) -> String {
        String::from_utf8_lossy(&lock(&self.heard).bytes).into_owned()
    }

    fn waits(&self) -> Option<&'static str> {
        let heard = lock(&self.heard);
        let new = String::from_utf8_lossy(&heard.bytes[heard.mark..]).into_owned();
        let end = new.trim_end_matches(' ');
        PROMPTS.into_iter().find(|prompt| end.ends_with(prompt))
    }

    fn send(&mut self, line: &str) {
        let mut heard = lock(&self.heard);
        heard.mark = heard.bytes.len();
        // It may be gone.
        let _ = self.to.write_all(format!("{line}\n").as_bytes());
        let _ = self.to.flush();
    }
}

struct Terminal {
    screen: Arc<Mutex<(vt100::Parser, Heard)>>,
    keys: Box<dyn Write + Send>,
}

const SIZE: PtySize = PtySize {
    rows: 100,
    cols: 200,
    pixel_width: 0,
    pixel_height: 0,
};

impl Talk for Terminal {
    fn shown(&self) -> String {
        lock(&self.screen).0.screen().contents()
    }

    fn waits(&self) -> Option<&'static str> {
        let screen = lock(&self.screen);
        let (row, _) = screen.0.screen().cursor_position();
        let line = screen.0.screen().rows(0, SIZE.cols).nth(row.into());
        let line = line.unwrap_or_default();
        let new = String::from_utf8_lossy(&screen.1.bytes[screen.1.mark..]).into_owned();
        PROMPTS
            .into_iter()
            .find(|prompt| line.trim_end() == *prompt && new.contains(prompt))
    }

    fn send(&mut self, line: &str) {
        let mut screen = lock(&self.screen);
        screen.1.mark = screen.1.bytes.len();
        let _ = self.keys.write_all(format!("{line}\r").as_bytes());
        let _ = self.keys.flush();
    }
}

impl Table<'_> {
    pub(super) fn at_a_pipe(&self, dice: &mut Dice) -> &'static str {
        let who = somebody(dice);
        let began = Instant::now();
        let mut child = Command::new(self.program)
            .args(["run", "--op-id", who])
            .current_dir(self.dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        self.crowd.born(pid);
        let heard = Arc::new(Mutex::new(Heard::default()));
        let out = read_all(child.stdout.take().unwrap());
        let listening = read_chunks(child.stderr.take().unwrap(), {
            let heard = Arc::clone(&heard);
            move |bytes| lock(&heard).bytes.extend_from_slice(bytes)
        });
        let to = child.stdin.take().unwrap();
        let mut talk = Pipe { heard, to };
        self.converse(&mut talk, dice, &|| listening.is_finished());
        let shown = Arc::clone(&talk.heard);
        drop(talk);
        let status = self.crowd.reap(pid, || status_of(&mut child));
        listening.join().unwrap();
        let err = String::from_utf8_lossy(&lock(&shown).bytes).into_owned();
        let out = out.join().unwrap();
        self.parted("pipe", began, status.code(), &err);
        self.recorded(&out, who);
        "run, pipe"
    }

    pub(super) fn at_a_terminal(&self, dice: &mut Dice) -> &'static str {
        let who = somebody(dice);
        let began = Instant::now();
        let pair = native_pty_system().openpty(SIZE).unwrap();
        let mut command = CommandBuilder::new(self.program);
        command.args(["run", "--color", "never", "--op-id", who]);
        command.cwd(self.dir);
        command.env("TERM", "xterm");
        let mut child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let pid = child.process_id().unwrap();
        self.crowd.born(pid);
        let keys = pair.master.take_writer().unwrap();
        let parser = vt100::Parser::new(SIZE.rows, SIZE.cols, 0);
        let screen = Arc::new(Mutex::new((parser, Heard::default())));
        let listening = read_chunks(pair.master.try_clone_reader().unwrap(), {
            let screen = Arc::clone(&screen);
            move |bytes| {
                let mut screen = lock(&screen);
                screen.0.process(bytes);
                screen.1.bytes.extend_from_slice(bytes);
            }
        });
        let mut talk = Terminal { screen, keys };
        self.converse(&mut talk, dice, &|| listening.is_finished());
        let status = self.crowd.reap(pid, || child.try_wait().unwrap());
        let shown = Arc::clone(&talk.screen);
        drop((talk, pair.master));
        listening.join().unwrap();
        let all = String::from_utf8_lossy(&lock(&shown).1.bytes).into_owned();
        let code = match status.signal() {
            Some(_) => None,
            None => i32::try_from(status.exit_code()).ok(),
        };
        self.parted("terminal", began, code, &all);
        let screen = lock(&shown).0.screen().contents();
        self.recorded(&screen, who);
        "run, terminal"
    }

    /// Answers what is asked, and asks, for a while.
    fn converse(&self, talk: &mut dyn Talk, dice: &mut Dice, gone: &dyn Fn() -> bool) {
        let mut lines = 4 + dice.below(20);
        let mut meant = String::new();
        loop {
            let began = Instant::now();
            let prompt = loop {
                if let Some(prompt) = talk.waits() {
                    break prompt;
                }
                if gone() {
                    return;
                }
                let shown = || talk.shown();
                assert!(began.elapsed() < STUCK, "nothing is asked: {}", shown());
                std::thread::sleep(Duration::from_millis(2));
            };
            // A person thinks, and others act.
            if dice.below(3) == 0 {
                std::thread::sleep(Duration::from_millis(dice.below(400)));
            }
            lines = lines.saturating_sub(1);
            if matches!(prompt, VERDICT | DECIDE) {
                meant = asked_last(&talk.shown());
            }
            let line = match prompt {
                _ if lines == 0 => "/exit".to_owned(),
                GHYLL => self.command(dice),
                VERDICT => match dice.below(8) {
                    0 => "f".to_owned(),
                    1 | 2 => "i".to_owned(),
                    3 => "s".to_owned(),
                    4 => "/pending".to_owned(),
                    _ => format!("p {} it says so", self.tag(Some(&meant))),
                },
                WHERE => format!("src/{}.rs:1", self.tag(Some(&meant))),
                NOTE => self.tag(Some(&meant)),
                _ => (1 + dice.below(2)).to_string(),
            };
            talk.send(&line);
        }
    }

    fn command(&self, dice: &mut Dice) -> String {
        let (arrow, clause) = self.clause(dice);
        match dice.below(8) {
            0 => String::new(),
            1 => "/passes".to_owned(),
            2 => "/pending".to_owned(),
            3 => format!(
                "/attest {arrow}/{clause} pass --keep --inspected src/{}.rs",
                self.tag(None)
            ),
            _ => format!("/run-arrow {}", ARROWS[dice.below(4) as usize].0),
        }
    }

    /// Judges how a session ended.
    fn parted(&self, kind: &'static str, began: Instant, code: Option<i32>, said: &str) {
        let stopped = self.crowd.stopped_between(began, Instant::now());
        let mut told = lock(&self.told);
        for found in codes(said) {
            let explained = OVERTAKEN.contains(&found.as_str())
                || (stopped && ["session-locked", "engine-db-locked"].contains(&found.as_str()));
            assert!(explained, "{kind}: {found}\n{said}");
            super::Told::count(&mut told.refused, format!("{kind}: {found}"));
        }
        assert!(!said.contains("panicked"), "{said}");
        let lost = "attestation-audit-durability-failed";
        assert!(stopped || !said.contains(lost), "{said}");
        let refused = !codes(said).is_empty() || said.contains("and refused");
        assert!(
            matches!(code, None | Some(0)) || refused,
            "{code:?}\n{said}"
        );
    }

    /// Notes what a session acknowledged.
    fn recorded(&self, text: &str, who: &str) {
        for line in text.split_inclusive('\n') {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["Recorded", id, _, "by", op_id] = words[..] else {
                continue;
            };
            // One that was cut off by death acknowledges nothing.
            if op_id != who || !line.ends_with('\n') {
                continue;
            }
            lock(&self.acks).push(Ack {
                id: id.trim_end_matches(':').to_owned(),
                op_id: op_id.to_owned(),
                replaces: None,
                told: false,
            });
        }
    }
}

/// The record that would answer the question that was shown last.
fn asked_last(shown: &str) -> String {
    let mut found = None;
    for (at, _) in shown.match_indices("att-") {
        let rest = &shown[at..];
        let Some((name, rest)) = rest.split_once(", round ") else {
            continue;
        };
        if name.contains(char::is_whitespace) {
            continue;
        }
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        found = match digits.as_str() {
            "1" => Some(name.to_owned()),
            _ => Some(format!("{name}.r{digits}")),
        };
    }
    found.unwrap_or_else(|| panic!("no question is shown: {shown}"))
}
