//! Who talks to ghyll: scripts, a person at a pipe, agents, models.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ghyll::clock::SystemClock;
use ghyll::codes;
use ghyll::model::sse::Events;
use ghyll::policy::may_be_shown;
use ghyll::runtime;
use ghyll::script::{Limits, Stage};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

use super::policy;
use crate::runtimes;
use crate::survive::fixture::{self, ARROW};

/// A project in which three clauses are asked, made once.
fn asked() -> &'static TempDir {
    static ASKED: OnceLock<TempDir> = OnceLock::new();
    ASKED.get_or_init(|| {
        let dir = fixture::scratch();
        fixture::make(dir.path());
        fs::create_dir(dir.path().join("src")).unwrap();
        fs::write(dir.path().join("src/cart.rs"), "line\n".repeat(9)).unwrap();
        let session = fixture::open(dir.path(), policy()).unwrap();
        session.dispatch(ARROW).unwrap();
        drop(session);
        dir
    })
}

fn project() -> TempDir {
    let dir = fixture::scratch();
    fixture::copy(asked().path(), dir.path());
    dir
}

/// Whatever a script says: it ends, within its limits, with a place and a code
/// where it fails; and what it recorded is whole.
pub fn script(data: &[u8]) {
    let dir = project();
    let said = Arc::new(Mutex::new(0_usize));
    let heard = Arc::clone(&said);
    let stage = Stage {
        root: dir.path().to_owned(),
        policy: Arc::clone(policy()),
        clock: Arc::new(SystemClock),
        limits: Limits {
            operations: 20_000,
            deadline: Duration::from_secs(10),
            ..Limits::default()
        },
        log: Arc::new(move |line| *heard.lock().unwrap() += line.len()),
        heap: || 0,
    };
    let source = String::from_utf8_lossy(data);
    let report = stage.run(&source).unwrap();
    if let Some(error) = &report.error {
        let known = codes::page(&error.code).is_some();
        assert!(known, "{}: {}", error.code, error.message);
        assert!(error.place.line <= source.lines().count() + 1, "{error:?}");
        assert!(error.message.len() <= 2048, "{error:?}");
        assert!(!error.message.contains("panicked"), "{error:?}");
    }
    drop(fixture::open(dir.path(), policy()).unwrap());
    fixture::assert_clean(dir.path(), policy());
}

/// Whatever is typed into a pipe: the program ends by itself, with a code of
/// the contract; nothing that acts on a terminal comes out; what was recorded
/// is whole.
pub fn repl(data: &[u8]) {
    static GHYLL: OnceLock<PathBuf> = OnceLock::new();
    let dir = project();
    let answers = dir.path().join("answers");
    fs::write(&answers, data).unwrap();
    let output = Command::new(GHYLL.get_or_init(runtimes::ghyll))
        .args(["run", "--op-id", "alice"])
        .current_dir(dir.path())
        .env_remove("GHYLL_MODEL_URL")
        .env("PATH", "")
        .env("EDITOR", "")
        .stdin(Stdio::from(fs::File::open(&answers).unwrap()))
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    let code = output.status.code();
    assert!(
        matches!(code, Some(0 | 1 | 3)),
        "{:?}: {said}",
        output.status
    );
    let odd = said.chars().find(|c| *c != '\n' && !may_be_shown(*c));
    assert_eq!(odd, None, "{said:?}");
    drop(fixture::open(dir.path(), policy()).unwrap());
    fixture::assert_clean(dir.path(), policy());
}

/// What a client says first.
const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n"
);

/// Whatever an agent sends: each line that comes back is an answer to something
/// it asked, no id is answered twice more often than it was asked, and no
/// verdict is given.
pub fn mcp(data: &[u8]) {
    let dir = project();
    let before = fixture::tree(dir.path());
    let polite = data.first().is_some_and(|b| b % 2 == 0);
    let hello = if polite { HELLO.as_bytes() } else { b"" };
    let sent = [hello, data.get(1..).unwrap_or_default()].concat();
    let read = std::io::Cursor::new(sent.clone());
    let (mut ours, theirs) = tokio::io::duplex(64 << 10);
    let root = dir.path().to_owned();
    let heard = runtime::block_on(async move {
        let served = tokio::spawn(async move {
            let policy = Arc::clone(policy());
            ghyll::mcp::serve_on(&root, policy, read, theirs).await
        });
        let mut heard = Vec::new();
        ours.read_to_end(&mut heard).await.unwrap();
        if let Err(e) = served.await.unwrap() {
            assert!(codes::page(e.code()).is_some(), "{e}");
        }
        heard
    })
    .unwrap();
    let heard = String::from_utf8(heard).unwrap();
    let mut asked: BTreeMap<String, u64> = BTreeMap::new();
    for line in sent.split(|b| *b == b'\n') {
        if let Ok(Value::Object(message)) = serde_json::from_slice(trimmed(line))
            && let Some(id) = message.get("id")
        {
            *asked.entry(id.to_string()).or_default() += 1;
        }
    }
    for line in heard.lines() {
        let answer: Value = serde_json::from_str(line).unwrap();
        assert_eq!(answer["jsonrpc"], "2.0", "{line}");
        let Some(id) = answer.get("id").filter(|id| !id.is_null()) else {
            continue;
        };
        let left = asked.get_mut(&id.to_string());
        let left = left.unwrap_or_else(|| panic!("nobody asked: {line}"));
        *left = left
            .checked_sub(1)
            .unwrap_or_else(|| panic!("twice: {line}"));
    }
    assert_eq!(fixture::tree(dir.path()), before, "no verdict is given");
}

fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii();
    line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
}

/// However a model's stream is cut, the same events come of it; none is longer
/// than is said, and a stream that is refused is refused however it is cut.
pub fn chat(data: &[u8]) {
    const MOST: usize = 256;
    let (first, stream) = data.split_at(data.len().min(1));
    let size = first.first().map_or(1, |b| usize::from(*b)).max(1);
    let all = |size: usize| {
        let mut events = Events::new(MOST);
        let mut heard = Vec::new();
        for piece in stream.chunks(size.max(1)) {
            match events.push(piece) {
                Ok(more) => heard.extend(more),
                Err(bad) => return Err(bad),
            }
        }
        Ok(heard)
    };
    let whole = all(stream.len());
    assert_eq!(whole, all(size), "in pieces of {size}");
    assert_eq!(whole, all(1));
    for event in whole.into_iter().flatten() {
        // Its lines are joined by line ends.
        assert!(
            event.len() <= MOST + event.matches('\n').count(),
            "{event:?}"
        );
    }
}
