//! A peer that others wrote: LiteLLM's proxy, from its package, with a model
//! that always says the same.
//!
//! Installing it takes minutes, so it is asked for: `GHYLL_LITELLM=1`, or
//! `CI=true`, sets it up below `target/` and runs this; else the test says that
//! it skipped.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const ASKED_FOR: &str = "GHYLL_LITELLM";

fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/model_peer")
}

fn succeed(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

/// The proxy's Python, set up once for each list of what it needs.
fn python() -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("litellm");
    let python = home.join("bin/python");
    let needed = files().join("requirements.txt");
    let stamp = home.join("made-from");
    let wanted = std::fs::read_to_string(&needed).unwrap();
    if std::fs::read_to_string(&stamp).ok().as_deref() != Some(&wanted) {
        succeed(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&home),
        );
        let mut pip = Command::new(&python);
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        succeed(pip.arg("--requirement").arg(&needed));
        std::fs::write(stamp, wanted).unwrap();
    }
    python
}

struct Proxy {
    child: Child,
    port: u16,
}

impl Proxy {
    fn start() -> Self {
        let python = python();
        let port = {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            free.local_addr().unwrap().port()
        };
        let child = Command::new(&python)
            .arg(python.with_file_name("litellm"))
            .arg("--config")
            .arg(files().join("config.yaml"))
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            // Nothing is asked of anybody else.
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .env(
                "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY",
                "true",
            )
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut proxy = Self { child, port };
        let end = Instant::now() + Duration::from_secs(180);
        while !proxy.is_up() {
            assert!(Instant::now() < end, "the proxy does not come up");
            assert!(proxy.child.try_wait().unwrap().is_none(), "the proxy ended");
            std::thread::sleep(Duration::from_millis(200));
        }
        proxy
    }

    fn is_up(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else {
            return false;
        };
        let ask = "GET /health/liveliness HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let mut answer = String::new();
        stream.write_all(ask.as_bytes()).is_ok()
            && stream.read_to_string(&mut answer).is_ok()
            && answer.starts_with("HTTP/1.1 200")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ghyll(dir: &Path, proxy: &Proxy, model: &str, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_ghyll"))
        .arg("--dir")
        .arg(dir)
        .args(args)
        .env(
            "GHYLL_MODEL_URL",
            format!("http://127.0.0.1:{}/v1", proxy.port),
        )
        .env("GHYLL_MODEL_NAME", model)
        .env_remove("GHYLL_MODEL_API_KEY")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn typed(mut child: Child, lines: &str) -> String {
    child
        .stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

fn turns(dir: &Path) -> Vec<Value> {
    let chats = std::fs::read_dir(dir.join(".ghyll/chats")).unwrap();
    let text: String = chats
        .map(|chat| std::fs::read_to_string(chat.unwrap().path()).unwrap())
        .collect();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn turns_go_to_a_proxy_and_questions_hold_them_back() {
    let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    if !in_ci && std::env::var_os(ASKED_FOR).is_none() {
        eprintln!("skipped: {ASKED_FOR}=1 installs LiteLLM's proxy and tries it");
        return;
    }
    let proxy = Proxy::start();
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    std::fs::write(dir.join("a.txt"), "1\n").unwrap();
    typed(ghyll(dir, &proxy, "mock", &["init", "--example"]), "");
    let run = ["run", "--op-id", "alice"];

    // Two turns; then a fail, and a question that holds the third back.
    let lines = "one\ntwo\n/run-arrow A-checkout\nf\na.txt:1\ns\ns\nthree\np\n";
    let printed = typed(ghyll(dir, &proxy, "mock", &run), lines);
    assert_eq!(
        printed
            .matches("| Mended: the currency is named now.")
            .count(),
        2,
        "{printed}"
    );
    assert_eq!(turns(dir).len(), 2, "the input ended at a question");

    // Killed; what was kept is gone on with, and what is due is asked first.
    let mut killed = ghyll(dir, &proxy, "mock", &run);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let resume = [&run[..], &["--resume"]].concat();
    let printed = typed(ghyll(dir, &proxy, "mock", &resume), "p\nthree\n");
    assert!(printed.contains("2 turns"), "{printed}");
    assert_eq!(turns(dir)[2]["said"], "three", "{printed}");
    assert_eq!(turns(dir)[2]["arrow"], "A-checkout");

    let printed = typed(ghyll(dir, &proxy, "nobody", &run), "hello\n");
    assert!(printed.contains("error[model-refused]: "), "{printed}");
    assert!(printed.contains("HTTP 40"), "{printed}");
}
