//! A model that answers badly, and one that answers well: an endpoint in this
//! process does whatever it likes, and ghyll keeps its head.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod endpoint;

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use endpoint::{Endpoint, Wire, chunk, done, events, status};
use ghyll::model::client::{Client, Limits};
use ghyll::model::config::{self, Choice};
use ghyll::model::{Finish, Message, Model, ModelError, Role};
use ghyll::runtime::cancel::Cancel;
use serde_json::Value;
use tempfile::TempDir;

const KEY: &str = "sk-this-is-the-secret";

/// Waits short enough for tests, and long enough for a busy machine.
fn limits() -> Limits {
    Limits {
        connect: Duration::from_secs(5),
        idle: Duration::from_secs(15),
        whole: Duration::from_secs(20),
        attempts: 3,
        backoff: Duration::from_millis(5),
        retry_after: Duration::from_secs(2),
        text: 64 << 10,
        line: 16 << 10,
        stream: 256 << 10,
    }
}

fn client(url: &str, limits: Limits) -> Client {
    let choice = Choice {
        name: "mock".to_owned(),
        endpoint: config::Endpoint::parse(url).unwrap(),
        model: "mock-1".to_owned(),
        tier: None,
        key_file: None,
    };
    Client::new(&choice, &|_| Some(KEY.into()), limits).unwrap()
}

/// Asks the endpoint at `url`; what came, and how it ended.
fn ask_with(url: &str, limits: Limits) -> (String, Result<Finish, ModelError>) {
    let messages = [Message {
        role: Role::User,
        content: "go on".to_owned(),
    }];
    let mut text = String::new();
    let ended = client(url, limits).turn(
        &messages,
        &mut |piece| text.push_str(piece),
        &Cancel::default(),
    );
    (text, ended)
}

/// For those that say nothing for longer than is waited.
fn impatient() -> Limits {
    Limits {
        idle: Duration::from_millis(300),
        ..limits()
    }
}

fn ask(endpoint: &Endpoint) -> (String, Result<Finish, ModelError>) {
    ask_with(&endpoint.url(), limits())
}

fn code(ended: Result<Finish, ModelError>) -> &'static str {
    match ended {
        Ok(_) => "no error",
        Err(error) => {
            let said = format!("{error} {error:?} {}", error.hint());
            assert!(!said.contains(KEY), "{said}");
            error.code()
        }
    }
}

#[test]
fn a_reply_comes_piece_by_piece_and_the_request_is_as_it_should_be() {
    let endpoint = Endpoint::once(|wire: &mut Wire| {
        // Cut in the middle of a letter, of a line end, and of an event.
        let stream = events(&[chunk("Grö"), chunk("ße \u{1f642}"), done("stop")]);
        for piece in stream.chunks(7) {
            wire.send(piece);
        }
    });
    let (text, ended) = ask(&endpoint);
    assert_eq!(
        (text.as_str(), ended.unwrap()),
        ("Größe \u{1f642}", Finish::Stop)
    );
    let request = endpoint.requests().remove(0);
    assert!(
        request
            .head
            .starts_with("POST /v1/chat/completions HTTP/1.1\r\n")
    );
    let head = request.head.to_lowercase();
    assert!(head.contains(&format!("authorization: bearer {KEY}\r\n")));
    assert!(head.contains("host: 127.0.0.1:"));
    let body: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(body["model"], "mock-1");
    assert_eq!(body["stream"], true);
    assert_eq!(body["messages"][0]["role"], "user");
}

#[test]
fn what_is_no_text_of_its_is_no_text() {
    let tool =
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"attest"}}],"content":null}}]}"#;
    let usage = r#"{"choices":[],"usage":{"total_tokens":3}}"#;
    let endpoint = Endpoint::once(move |wire: &mut Wire| {
        let all = [
            chunk("a"),
            tool.to_owned(),
            usage.to_owned(),
            done("tool_calls"),
        ];
        wire.send(&events(&all));
    });
    let (text, ended) = ask(&endpoint);
    assert_eq!((text.as_str(), ended.unwrap()), ("a", Finish::Other));
}

#[test]
fn an_endpoint_that_does_not_stream_is_understood_too() {
    let endpoint = Endpoint::once(|wire: &mut Wire| {
        let body = r#"{"choices":[{"message":{"content":"all of it"},"finish_reason":"length"}]}"#;
        wire.whole("200 OK", "Content-Type: application/json\r\n", body);
    });
    let (text, ended) = ask(&endpoint);
    assert_eq!(
        (text.as_str(), ended.unwrap()),
        ("all of it", Finish::Length)
    );
}

#[test]
fn every_way_to_break_off_has_its_code_and_keeps_what_came() {
    type Badly = fn(&mut Wire);
    let cases: [(&str, &str, Badly); 11] = [
        ("model-reply-cut-off", "a", |wire| {
            wire.send(&events(&[chunk("a")]));
            wire.send(b"data: {\"choices\":[{\"del");
        }),
        // Gone before it said anything.
        ("model-unreachable", "", |_| {}),
        ("model-reply-cut-off", "", |wire| wire.send(b": hello\n")),
        ("model-reply-malformed", "a", |wire| {
            wire.send(&events(&[chunk("a"), "{\"choices\": 3}".to_owned()]));
        }),
        ("model-reply-malformed", "a", |wire| {
            wire.send(&events(&[chunk("a"), "<html>".to_owned()]));
        }),
        ("model-reply-malformed", "", |wire| {
            wire.send(b"data: \xff\xfe\n\n");
        }),
        ("model-refused", "a", |wire| {
            let error = r#"{"error":{"message":"out of sk-this-is-the-secret"}}"#;
            wire.send(&events(&[chunk("a"), error.to_owned()]));
        }),
        // A line without an end.
        ("model-reply-too-long", "a", |wire| {
            wire.send(&events(&[chunk("a")]));
            while wire.try_send(&[b'x'; 4096]) {}
        }),
        // An event without an end.
        ("model-reply-too-long", "", |wire| {
            while wire.try_send(b"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n") {}
        }),
        // Nothing but signs of life.
        ("model-reply-too-long", "", |wire| {
            while wire.try_send(b": ping\n\n".repeat(512).as_slice()) {}
        }),
        ("model-timeout", "a", |wire| {
            wire.send(&events(&[chunk("a")]));
            wire.wait_for_end();
        }),
    ];
    for (n, (wanted, came, badly)) in cases.into_iter().enumerate() {
        let endpoint = Endpoint::once(badly);
        let limits = match wanted {
            "model-timeout" => impatient(),
            _ => limits(),
        };
        let (text, ended) = ask_with(&endpoint.url(), limits);
        assert_eq!((code(ended), text.as_str()), (wanted, came), "case {n}");
    }
}

#[test]
fn ten_megabytes_of_text_end_at_the_limit() {
    let endpoint = Endpoint::once(|wire: &mut Wire| {
        let piece = events(&[chunk(&"é".repeat(5000))]);
        for _ in 0..1000 {
            if !wire.try_send(&piece) {
                return;
            }
        }
    });
    let (text, ended) = ask(&endpoint);
    assert_eq!(code(ended), "model-reply-too-long");
    assert_eq!(text.len(), 64 << 10);
    assert!(text.chars().all(|c| c == 'é'));
}

#[test]
fn a_key_that_is_sent_back_does_not_come_through() {
    let endpoint = Endpoint::once(|wire: &mut Wire| {
        let pieces = KEY.as_bytes().chunks(3);
        let mut all: Vec<String> = pieces
            .map(|piece| chunk(std::str::from_utf8(piece).unwrap()))
            .collect();
        all.push(chunk(&format!(" and {KEY}")));
        all.push(done("stop"));
        wire.send(&events(&all));
    });
    assert_eq!(ask(&endpoint).0, "[key] and [key]");
}

#[test]
fn every_status_has_its_code_and_only_some_are_asked_again() {
    let detail = format!("{{\"error\":{{\"message\":\"no: {KEY}\"}}}}");
    for (line, wanted, asked) in [
        ("400 Bad Request", "model-refused", 1),
        ("401 Unauthorized", "model-unauthorised", 1),
        ("403 Forbidden", "model-unauthorised", 1),
        ("404 Not Found", "model-refused", 1),
        ("418 Teapot", "model-refused", 1),
        ("429 Too Many Requests", "model-unavailable", 3),
        ("500 Internal Server Error", "model-unavailable", 3),
        ("503 Service Unavailable", "model-unavailable", 3),
        ("301 Moved", "model-redirected", 1),
        ("308 Moved", "model-redirected", 1),
        ("204 No Content", "model-refused", 1),
    ] {
        let body = if line.starts_with("204") { "" } else { &detail };
        let endpoint = Endpoint::always(status(line, "", body));
        let (text, ended) = ask(&endpoint);
        if wanted == "model-refused" && !body.is_empty() {
            let said = ended.as_ref().unwrap_err().to_string();
            assert!(said.contains("no: [key]"), "{said}");
        }
        assert_eq!((text.as_str(), code(ended)), ("", wanted), "{line}");
        assert_eq!(endpoint.requests().len(), asked, "{line}");
    }
}

#[test]
fn nobody_is_followed_with_a_key() {
    let elsewhere = Endpoint::always(status("200 OK", "", ""));
    let to = format!("Location: {}/chat/completions\r\n", elsewhere.url());
    let endpoint = Endpoint::always(status("307 Temporary Redirect", &to, ""));
    let (_, ended) = ask(&endpoint);
    let error = ended.unwrap_err();
    assert!(error.to_string().contains(&elsewhere.url()), "{error}");
    assert_eq!(error.code(), "model-redirected");
    assert!(elsewhere.requests().is_empty());
}

#[test]
fn an_endpoint_that_is_busy_is_left_alone_as_long_as_it_asks() {
    let busy = || status("429 Too Many Requests", "Retry-After: 1\r\n", "");
    let endpoint = Endpoint::each(vec![
        busy(),
        Box::new(|wire: &mut Wire| wire.send(&events(&[chunk("now"), done("stop")]))),
    ]);
    let started = Instant::now();
    assert_eq!(ask(&endpoint).0, "now");
    assert!(started.elapsed() >= Duration::from_secs(1));

    let endpoint = Endpoint::always(status("503 Down", "Retry-After: 3600\r\n", ""));
    let error = ask(&endpoint).1.unwrap_err();
    assert_eq!(error.code(), "model-unavailable");
    assert!(error.to_string().contains("3600 s"), "{error}");
    assert_eq!(endpoint.requests().len(), 1, "an hour is not waited for");
}

#[test]
fn nobody_there_and_somebody_else_there_are_told_apart() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let (_, ended) = ask_with(&format!("http://127.0.0.1:{port}/v1"), limits());
    assert_eq!(code(ended), "model-unreachable");
    let (_, ended) = ask_with("http://no-such-host.invalid/v1", limits());
    assert_eq!(code(ended), "model-unreachable");
    // It speaks first, as the request goes out or before.
    for _ in 0..20 {
        let endpoint = Endpoint::raw(|wire| {
            wire.send(b"SSH-2.0-OpenSSH_9.9\r\n");
            wire.wait_for_end();
        });
        let error = ask(&endpoint).1.unwrap_err();
        assert_eq!(error.code(), "model-reply-malformed", "{error:?}");
    }
    let endpoint = Endpoint::raw(|wire| wire.wait_for_end());
    let (_, ended) = ask_with(&endpoint.url(), impatient());
    assert_eq!(code(ended), "model-timeout");
}

#[test]
fn a_turn_that_is_called_off_ends_at_once_and_keeps_what_came() {
    let endpoint = Endpoint::once(|wire: &mut Wire| {
        wire.send(&events(&[chunk("half of ")]));
        wire.wait_for_end();
    });
    let cancel = Cancel::default();
    let client = client(&endpoint.url(), limits());
    let started = Instant::now();
    let mut text = String::new();
    let mut on_text = |piece: &str| {
        text.push_str(piece);
        cancel.cancel();
    };
    let ended = client.turn(&[], &mut on_text, &cancel);
    assert_eq!(code(ended), "model-cancelled");
    assert_eq!(text, "half of ");
    assert!(started.elapsed() < limits().idle);
}

/// A project with one arrow of two attested clauses, and a session typed into.
struct Desk {
    dir: TempDir,
}

const GRID: &str = "\
version: 1
arrows:
  - id: A-pay
    source-role: analyst
    target-role: architect
    stratum: behaviour
    context: pay
    clauses:
      - {id: C1, concept: Every ending is described, eval: attested}
  - id: A-env
    source-role: architect
    target-role: builder
    stratum: behaviour
    context: env
    clauses:
      - {id: M1, concept: It fails and says all it knows, eval: machine, run: [sh, -c, 'env | grep GHYLL_; exit 1']}
";

impl Desk {
    fn new() -> Self {
        Self::over(GRID)
    }

    fn over(text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let grid = dir.path().join("grid.yaml");
        std::fs::write(&grid, text).unwrap();
        std::fs::write(dir.path().join("a.txt"), "1\n2\n3\n").unwrap();
        let made = Command::new(env!("CARGO_BIN_EXE_ghyll"))
            .args(["init", "--grid"])
            .arg(&grid)
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        Self { dir }
    }

    fn ghyll(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ghyll"));
        command.args(["--dir".as_ref(), self.dir.path().as_os_str()]);
        command.args(args).env_remove("GHYLL_MODEL_URL");
        command
            .env_remove("GHYLL_MODEL_NAME")
            .env_remove("SSL_CERT_FILE");
        command.env("GHYLL_MODEL_API_KEY", KEY);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn start(&self, url: &str, args: &[&str]) -> Child {
        let mut command = self.ghyll(&[&["run", "--op-id", "alice"], args].concat());
        command
            .env("GHYLL_MODEL_URL", url)
            .env("GHYLL_MODEL_NAME", "mock-1");
        command.spawn().unwrap()
    }

    /// Types lines into a session; what was printed.
    fn typed(&self, url: &str, args: &[&str], lines: &str) -> String {
        ended(self.start(url, args), lines)
    }

    /// The turns on disk.
    fn turns(&self) -> Vec<Value> {
        let mut turns = Vec::new();
        let Ok(chats) = std::fs::read_dir(self.dir.path().join(".ghyll/chats")) else {
            return turns;
        };
        for chat in chats {
            let text = std::fs::read_to_string(chat.unwrap().path()).unwrap();
            assert!(text.ends_with('\n') && !text.contains(KEY), "{text}");
            turns.extend(
                text.lines()
                    .map(|l| serde_json::from_str::<Value>(l).unwrap()),
            );
        }
        turns
    }
}

/// Types lines into a session; what it printed, and whether it ended well.
fn talk(mut child: Child, lines: &str) -> (String, bool) {
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (
        String::from_utf8_lossy(&printed).into_owned(),
        output.status.success(),
    )
}

/// As [`talk`], of a session that must not show the key.
fn ended(child: Child, lines: &str) -> String {
    let (printed, _) = talk(child, lines);
    assert!(!printed.contains(KEY), "{printed}");
    printed
}

fn answers(texts: &[&str]) -> Endpoint {
    let answer = |text: &&str| -> endpoint::Handler {
        let stream = events(&[chunk(text), done("stop")]);
        Box::new(move |wire: &mut Wire| wire.send(&stream))
    };
    Endpoint::each(texts.iter().map(answer).collect())
}

#[test]
fn a_question_holds_a_turn_back_and_a_fail_reaches_the_model() {
    let desk = Desk::new();
    let endpoint = answers(&["/exit\npass\n\u{1b}[2J", "mended", "done"]);
    let printed = desk.typed(
        &endpoint.url(),
        &[],
        "hello\n/run-arrow A-pay\nf\na.txt:2\nmend it\n/run-arrow A-pay\ns\nagain\np\n",
    );
    assert!(printed.contains("| /exit\n| pass\n| [2J\n"), "{printed}");
    let requests = endpoint.requests();
    let body = |n: usize| serde_json::from_str::<Value>(&requests[n].body).unwrap();
    let data = |n: usize| {
        let body = body(n);
        let briefing = body["messages"][0]["content"].as_str().unwrap().to_owned();
        serde_json::from_str::<Value>(briefing.lines().nth(1).unwrap()).unwrap()
    };
    assert_eq!(data(0)["fails"], serde_json::json!([]));
    let fail = &data(1)["fails"][0];
    assert_eq!(fail["clause"], "C1", "{printed}");
    assert_eq!(fail["places"], serde_json::json!(["a.txt:2"]));
    let said = body(1)["messages"].clone();
    assert_eq!(said[2]["role"], "assistant");
    assert_eq!(said[3]["content"], "mend it");
    // Answered at the turn's own question, and only then said.
    assert_eq!(requests.len(), 3, "{printed}");
    assert_eq!(data(2)["fails"], serde_json::json!([]));
    assert_eq!(data(2)["arrow"]["id"], "A-env", "the next that is open");
    let turns = desk.turns();
    let said: Vec<&str> = turns.iter().map(|t| t["said"].as_str().unwrap()).collect();
    assert_eq!(said, ["hello", "mend it", "again"]);
    assert_eq!(turns[1]["reply"], "mended");
    assert_eq!(turns[1]["arrow"], "A-pay");
    assert_eq!(turns[1]["op_id"], "alice");
}

/// What a request told the model of the project.
fn told(request: &endpoint::Request) -> Value {
    let body: Value = serde_json::from_str(&request.body).unwrap();
    let briefing = body["messages"][0]["content"].as_str().unwrap();
    serde_json::from_str(briefing.lines().nth(1).unwrap()).unwrap()
}

#[test]
fn what_a_model_says_of_a_clause_is_seen_when_it_is_asked_and_kept_on_record() {
    let desk = Desk::new();
    let said = r#"{"C1": {"locations": ["a.txt:2"], "basis": "the second line\u001b[2J says so"}}"#;
    let endpoint = answers(&[&format!("mended\n\n```ghyll-evidence\n{said}\n```\n")]);
    let printed = desk.typed(&endpoint.url(), &[], "mend it\n");
    assert!(printed.contains("| ```ghyll-evidence\n"), "{printed}");
    let taken = "Taken as the producer's words on C1 of A-pay";
    assert!(printed.contains(taken), "{printed}");
    let briefing = &endpoint.requests()[0].body;
    assert!(briefing.contains("```ghyll-evidence"), "the form is told");
    // Another process asks, and a session after it.
    let asked = desk.ghyll(&["dispatch", "A-pay"]).output().unwrap();
    assert_eq!(asked.status.code(), Some(1));
    let pending = desk.ghyll(&["pending", "--json"]).output().unwrap();
    let pending: Value = serde_json::from_slice(&pending.stdout).unwrap();
    assert_eq!(pending[0]["evidence"]["locations"][0], "a.txt:2");
    let printed = desk.typed("http://127.0.0.1:1/v1", &[], "p\n");
    for shown in [
        "The producer (analyst) says, and nobody has checked it:",
        "the second line[2J says so",
        "    2 │ 2",
    ] {
        assert!(printed.contains(shown), "{shown}: {printed}");
    }
    let record = desk.ghyll(&["attestations", "--json"]).output().unwrap();
    let record: Value = serde_json::from_slice(&record.stdout).unwrap();
    let hint: Value = serde_json::from_str(record[0]["hint_json"].as_str().unwrap()).unwrap();
    assert_eq!(hint["basis"], "the second line\u{1b}[2J says so");
    assert_eq!(hint["locations"], serde_json::json!(["a.txt:2"]));
}

#[test]
fn what_a_model_may_not_say_is_refused_whole_and_it_is_told_why() {
    let desk = Desk::new();
    let block = |json: &str| format!("```ghyll-evidence\n{json}\n```");
    let replies = [
        block(r#"{"C1": {"basis": "it holds"}, "C9": {}}"#),
        block(r#"{"C1": {"locations": ["a.txt:4"]}}"#),
        block(r#"{"C1": {"verdict": "pass"}}"#),
        "I had better say nothing.".to_owned(),
        block("{}"),
    ];
    let replies: Vec<&str> = replies.iter().map(String::as_str).collect();
    let endpoint = answers(&replies);
    let lines = "one\ntwo\nthree\nfour\nfive\n/run-arrow A-pay\ns\n";
    let printed = desk.typed(&endpoint.url(), &[], lines);
    let codes = [
        "evidence-unknown-clause",
        "location-unknown",
        "evidence-malformed",
    ];
    for code in codes {
        assert!(printed.contains(&format!("error[{code}]: ")), "{printed}");
    }
    assert!(!printed.contains("Taken as"), "{printed}");
    assert!(!printed.contains("The producer"), "{printed}");
    let requests = endpoint.requests();
    assert!(told(&requests[0]).get("evidence_refused").is_none());
    for (request, code) in requests[1..].iter().zip(codes) {
        assert_eq!(told(request)["evidence_refused"]["code"], code);
    }
    assert!(told(&requests[4]).get("evidence_refused").is_none());
    let turns = desk.turns();
    assert_eq!(turns[1]["error"], codes[1]);
    assert_eq!(turns[1]["finish"], "stop");
    assert_eq!(turns[3]["error"], "");
}

#[test]
fn what_a_model_says_of_clauses_in_half_a_reply_is_not_taken() {
    let desk = Desk::new();
    let endpoint = Endpoint::once(|wire: &mut Wire| {
        let block = "```ghyll-evidence\n{\"C1\": {\"basis\": \"it holds\"}}\n```\n";
        wire.send(&events(&[chunk(block)]));
        wire.send(b"data: {\"choices\":[{\"del");
    });
    let lines = "go on\n/run-arrow A-pay\ns\n";
    let printed = desk.typed(&endpoint.url(), &[], lines);
    assert!(
        printed.contains("error[model-reply-cut-off]: "),
        "{printed}"
    );
    assert!(!printed.contains("The producer"), "{printed}");
}

#[test]
fn a_model_is_told_which_files_changed_under_a_verdict() {
    let covered = GRID.replace(
        "    context: pay\n",
        "    context: pay\n    covers: ['*.txt']\n",
    );
    let desk = Desk::over(&covered);
    let endpoint = answers(&["nothing yet", "seen", "seen again"]);
    let url = endpoint.url();
    desk.typed(&url, &[], "about A-pay\n/run-arrow A-pay\np\n");
    assert_eq!(
        told(&endpoint.requests()[0])["stale"],
        serde_json::json!([])
    );
    std::fs::write(desk.dir.path().join("a.txt"), "1\n2\nthree\n").unwrap();
    std::fs::write(desk.dir.path().join("b.txt"), "1\n").unwrap();
    desk.typed(&url, &[], "go on\n");
    let stale = serde_json::json!([{ "clause": "C1", "files": [
        { "path": "a.txt", "change": "changed" },
        { "path": "b.txt", "change": "added", "lines": { "added": 1, "removed": 0 } },
    ]}]);
    let data = told(&endpoint.requests()[1]);
    assert_eq!(data["arrow"]["status"], "stale");
    assert_eq!(data["stale"], stale);
    // Asked for again it is still what changed.
    desk.typed(&url, &[], "/run-arrow A-pay\ns\ngo on\ns\n");
    let data = told(&endpoint.requests()[2]);
    assert_eq!(data["arrow"]["clauses"][0]["status"], "pending");
    assert_eq!(data["stale"], stale);
}

#[test]
fn nothing_reaches_the_model_while_a_question_is_open() {
    let desk = Desk::new();
    let endpoint = answers(&[]);
    // The input ends at the question.
    let printed = desk.typed(&endpoint.url(), &[], "/run-arrow A-pay\ns\nhello\n");
    assert!(endpoint.requests().is_empty(), "{printed}");
    assert!(desk.turns().is_empty());
}

#[test]
fn a_session_that_is_ended_in_a_stream_keeps_what_came_and_is_gone_on_with() {
    let desk = Desk::new();
    let (tell, told) = std::sync::mpsc::channel();
    let endpoint = Endpoint::once(move |wire: &mut Wire| {
        wire.send(&events(&[chunk("half of it ")]));
        tell.send(()).unwrap();
        wire.wait_for_end();
    });
    let mut child = desk.start(&endpoint.url(), &[]);
    child.stdin.as_mut().unwrap().write_all(b"hello\n").unwrap();
    told.recv_timeout(Duration::from_secs(30)).unwrap();
    // What was sent has to have been read.
    std::thread::sleep(Duration::from_millis(200));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    ended(child, "");
    let turns = desk.turns();
    assert_eq!(turns[0]["reply"], "half of it ");
    assert_eq!(turns[0]["finish"], "incomplete");
    assert_eq!(turns[0]["error"], "model-cancelled");

    let endpoint = answers(&["the rest"]);
    let printed = desk.typed(&endpoint.url(), &["--resume"], "go on\n");
    assert!(printed.contains("Going on with chats/"), "{printed}");
    assert!(printed.contains("| the rest\n"), "{printed}");
    let body: Value = serde_json::from_str(&endpoint.requests()[0].body).unwrap();
    let contents: Vec<&str> = (1..4)
        .map(|n| body["messages"][n]["content"].as_str().unwrap())
        .collect();
    assert_eq!(contents, ["hello", "half of it ", "go on"]);
    assert_eq!(desk.turns().len(), 2);
}

#[test]
fn what_is_configured_badly_is_told_and_the_session_goes_on() {
    let desk = Desk::new();
    let config = desk.dir.path().join(".ghyll/config.toml");
    let dead = "url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\n";
    for (text, code) in [
        (format!("[models.a]\n{dead}"), "model-unreachable"),
        (
            format!("[models.a]\n{dead}api-key = \"{KEY}\"\n"),
            "model-key-in-config",
        ),
        (
            format!("[models.a]\n{dead}key-file = \"no/such\"\n"),
            "model-key-unreadable",
        ),
        (
            "[models.a]\nmodel = \"m\"\n".to_owned(),
            "model-url-missing",
        ),
        (
            "[models.a]\nmodel = \"m\"\nurl = \"http://h/v2\"\n".to_owned(),
            "model-url-invalid",
        ),
        ("models = 3\n".to_owned(), "config-invalid"),
    ] {
        std::fs::write(&config, text).unwrap();
        let child = desk.ghyll(&["run", "--op-id", "alice"]).spawn().unwrap();
        let (printed, well) = talk(child, &format!("hello {KEY}\n/pending\n"));
        assert!(well, "the session goes on: {printed}");
        // What was typed is echoed, and is the only place where the key is.
        assert_eq!(printed.matches(KEY).count(), 1, "{printed}");
        assert!(
            printed.contains(&format!("error[{code}]: ")),
            "{code}: {printed}"
        );
        let kept = desk.turns();
        let is_kept = |turn: &Value| turn["error"] == code && turn["said"] == "hello [key]";
        assert!(kept.iter().any(is_kept), "{code}: {kept:?}");
    }
}

#[test]
fn a_command_is_not_given_the_key_and_so_cannot_have_it_recorded() {
    let desk = Desk::new();
    let mut command = desk.ghyll(&["run"]);
    command.env("GHYLL_SEEN", "it-saw-this");
    ended(command.spawn().unwrap(), "/run-arrow A-env\n/findings\n");
    let found = desk.ghyll(&["findings", "--json"]).output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    assert!(found.contains("it-saw-this"), "{found}");
    assert!(!found.contains(KEY), "{found}");
}

#[test]
fn a_recorded_chat_replays_without_the_network() {
    let desk = Desk::new();
    let endpoint = answers(&["first \"quoted\"", "second"]);
    let script = desk.dir.path().join("session.rhai");
    let record = ["--record", script.to_str().unwrap()];
    desk.typed(&endpoint.url(), &record, "one\n/run-arrow A-pay\np\ntwo\n");
    let mut text = std::fs::read_to_string(&script).unwrap();
    text = text.replace(
        "say(\"two\");",
        "expect(say(\"two\") == \"second\", \"the reply\");",
    );
    std::fs::write(&script, text).unwrap();
    let again = Desk::new();
    let replayed = again.ghyll(&["replay"]).arg(&script).output().unwrap();
    assert!(replayed.status.success(), "{replayed:?}");
}

#[test]
fn a_certificate_counts_only_for_its_name_and_if_the_system_trusts_it() {
    let desk = Desk::new();
    for (name, trusted, accepted) in [
        ("127.0.0.1", true, true),
        ("elsewhere.example", true, false),
        ("127.0.0.1", false, false),
    ] {
        let (endpoint, pem) = endpoint::tls(name, events(&[chunk("secure"), done("stop")]));
        let roots = desk.dir.path().join("roots.pem");
        std::fs::write(&roots, pem).unwrap();
        let mut command = desk.ghyll(&["run"]);
        command
            .env("GHYLL_MODEL_URL", endpoint.url())
            .env("GHYLL_MODEL_NAME", "m");
        if trusted {
            command.env("SSL_CERT_FILE", &roots);
        }
        let printed = ended(command.spawn().unwrap(), "hello\n");
        let refused = printed.contains("error[model-certificate-refused]: ");
        assert_eq!(refused, !accepted, "{name}, {trusted}: {printed}");
        assert_eq!(printed.contains("| secure\n"), accepted, "{printed}");
        assert_eq!(endpoint.requests().len(), usize::from(accepted));
    }
}

#[test]
fn a_chat_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    desk.typed(&answers(&["yes"]).url(), &[], "hello\n");
    let chats = desk.dir.path().join(".ghyll/chats");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for chat in std::fs::read_dir(chats).unwrap() {
        assert_eq!(mode(&chat.unwrap().path()), 0o600);
    }
}
