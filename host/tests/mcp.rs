//! `ghyll mcp` as an agent meets it: a client over two pipes, beside operators
//! at the command line; and clients that mean harm.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const GHYLL: &str = env!("CARGO_BIN_EXE_ghyll");
/// Longer than anything here takes; a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A project of one arrow: a machine clause that wants a file `ready`, and an
/// attested one.
fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
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
    std::fs::write(dir.path().join("grid.yaml"), grid).unwrap();
    std::fs::write(dir.path().join("work.txt"), "one\ntwo\nthree\n").unwrap();
    assert_eq!(
        ghyll(dir.path(), &["init", "--grid", "grid.yaml"]).0,
        Some(0)
    );
    dir
}

fn run(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(GHYLL);
    command.args(args).current_dir(dir).stdin(Stdio::null());
    command.output().unwrap()
}

/// How a command exits, and all that it says.
fn ghyll(dir: &Path, args: &[&str]) -> (Option<i32>, String) {
    let output = run(dir, args);
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

fn attest(dir: &Path, words: &[&str]) {
    let (code, said) = ghyll(
        dir,
        &[&["attest", "A/C"], words, &["--op-id", "alice"]].concat(),
    );
    assert_eq!(code, Some(0), "{said}");
}

/// A client.
struct Client {
    server: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// What came while something else was waited for.
    kept: VecDeque<Value>,
    next: i64,
}

impl Client {
    /// A server that has heard nothing yet.
    fn mute(dir: &Path) -> Self {
        let mut server = Command::new(GHYLL)
            .arg("mcp")
            .current_dir(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(server.stdout.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let line = line.unwrap();
                let value = serde_json::from_str(&line);
                let value = value.unwrap_or_else(|e| panic!("{e}: {line}"));
                if tell.send(value).is_err() {
                    return;
                }
            }
        });
        Self {
            stdin: server.stdin.take(),
            server,
            lines,
            kept: VecDeque::new(),
            next: 1,
        }
    }

    /// One that began as the protocol has it.
    fn start(dir: &Path) -> Self {
        let mut client = Self::mute(dir);
        let begun = client.initialize();
        assert_eq!(begun["result"]["serverInfo"]["name"], "ghyll", "{begun}");
        client
    }

    fn initialize(&mut self) -> Value {
        let begun = self.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        begun
    }

    fn raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    fn request(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn receive(&mut self, wanted: impl Fn(&Value) -> bool, patience: Duration) -> Option<Value> {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return self.kept.remove(at);
        }
        let end = Instant::now() + patience;
        loop {
            match self
                .lines
                .recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                Ok(value) if wanted(&value) => return Some(value),
                Ok(value) => self.kept.push_back(value),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn answer(&mut self, id: i64) -> Value {
        let answer = self.receive(|value| value["id"] == id, PATIENCE);
        answer.unwrap_or_else(|| panic!("no answer to {id}; {:?}", self.kept))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// What a tool says: its result, or its refusal.
    fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, Value> {
        let answer = self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        said(&answer)
    }

    fn code(&mut self, tool: &str, arguments: Value) -> String {
        let refusal = self.call(tool, arguments).unwrap_err();
        refusal["code"].as_str().unwrap().to_owned()
    }

    /// Leaves; how the server exits then, and what it said on standard error.
    fn leave(mut self) -> (Option<i32>, String) {
        self.stdin = None;
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.server.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < end, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        let mut said = String::new();
        let stderr = self.server.stderr.as_mut().unwrap();
        std::io::Read::read_to_string(stderr, &mut said).unwrap();
        (status.code(), said)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn said(answer: &Value) -> Result<Value, Value> {
    let result = &answer["result"];
    let content = result["structuredContent"].clone();
    assert!(content.is_object(), "{answer}");
    let text = result["content"][0]["text"].as_str().unwrap();
    let same: Value = serde_json::from_str(text).unwrap();
    assert_eq!(content, same, "the text says the same");
    match result["isError"].as_bool() {
        Some(true) => Err(content),
        _ => Ok(content),
    }
}

/// Whether a value is as a schema says, as far as our schemas go.
fn conforms(value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
    if let Some(at) = schema["$ref"].as_str() {
        let at = root.pointer(at.trim_start_matches('#')).ok_or(at)?;
        return conforms(value, at, root);
    }
    for word in ["anyOf", "oneOf"] {
        if let Some(any) = schema[word].as_array() {
            let one = any
                .iter()
                .any(|schema| conforms(value, schema, root).is_ok());
            return one
                .then_some(())
                .ok_or(format!("{value} is none of {any:?}"));
        }
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        return Err(format!("{value} is not in {allowed:?}"));
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is = match &schema["type"] {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().any(|k| k == kind),
        one => one == kind,
    };
    if !is {
        return Err(format!("{value} is no {}", schema["type"]));
    }
    for (name, part) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(value) = value.get(name) {
            conforms(value, part, root).map_err(|e| format!("{name}: {e}"))?;
        }
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap();
        value
            .get(name)
            .ok_or_else(|| format!("{name} is missing in {value}"))?;
    }
    for (n, value) in value.as_array().into_iter().flatten().enumerate() {
        if schema["items"].is_object() {
            conforms(value, &schema["items"], root).map_err(|e| format!("{n}: {e}"))?;
        }
    }
    Ok(())
}

#[test]
fn an_agent_asks_waits_mends_and_sees_it_complete() {
    let dir = project();
    let mut agent = Client::start(dir.path());
    let status = agent.call("status", json!({})).unwrap();
    assert_eq!(status["arrows"][0]["status"], "unevaluated");

    let asked = agent
        .call(
            "dispatch",
            json!({ "arrow": "A", "evidence": { "C": {
                "locations": ["work.txt:2-3"], "basis": "two and three say so", "residue": "four",
            } } }),
        )
        .unwrap();
    assert_eq!(asked["status"], "blocked");
    assert_eq!(asked["requested"], json!(["att-A-C-v1"]));
    assert_eq!(asked["pending"][0]["concept"], "it is good");
    assert_eq!(
        asked["pending"][0]["evidence"]["basis"],
        "two and three say so"
    );
    let run = &asked["reasons"][0]["run"];
    assert_eq!(run["command"][0], "sh");
    let detail = run["detail"].as_str().unwrap();
    assert!(detail.starts_with("sh: exit status: 3\n"), "{detail}");
    assert!(detail.ends_with("not ready yet"), "{detail}");

    // Somebody answers while it waits.
    let wait = json!({ "name": "pending", "arguments": { "wait_seconds": 50 } });
    let id = agent.request("tools/call", wait);
    let nothing = agent.receive(|value| value["id"] == id, Duration::from_millis(1500));
    assert_eq!(nothing, None, "nothing was answered yet");
    attest(
        dir.path(),
        &[
            "fail",
            "--inspected",
            "work.txt:2",
            "--residue",
            "two is wrong",
        ],
    );
    let news = said(&agent.answer(id)).unwrap();
    assert_eq!(news["decided"][0]["verdict"], "fail");
    assert_eq!(news["decided"][0]["op_id"], "alice");
    assert_eq!(news["timed_out"], false);
    let hint: Value =
        serde_json::from_str(news["decided"][0]["hint_json"].as_str().unwrap()).unwrap();
    assert_eq!(
        hint["locations"],
        json!(["work.txt:2-3"]),
        "kept in the record"
    );
    assert_eq!(
        (&hint["basis"], &hint["residue"]),
        (&json!("two and three say so"), &json!("four"))
    );

    let status = agent.call("status", json!({ "arrow": "A" })).unwrap();
    let reason = &status["arrows"][0]["reasons"][1]["verdict"];
    assert_eq!(reason["inspected"], json!(["work.txt:2"]));
    assert_eq!(reason["residue"], "two is wrong");
    // It is told once.
    let news = agent.call("pending", json!({})).unwrap();
    assert_eq!(news["decided"], json!([]));

    std::fs::write(dir.path().join("ready"), "").unwrap();
    let asked = agent.call("dispatch", json!({ "arrow": "A" })).unwrap();
    assert_eq!(asked["status"], "provisional");
    assert_eq!(
        (&asked["pending"][0]["round"], &asked["next"]),
        (&json!(2), &json!("ghyll run"))
    );
    attest(dir.path(), &["pass"]);
    let news = agent
        .call("pending", json!({ "wait_seconds": 50 }))
        .unwrap();
    assert_eq!(news["decided"][0]["verdict"], "pass");
    let status = agent.call("status", json!({})).unwrap();
    assert_eq!(status["arrows"][0]["status"], "complete");
    assert_eq!(status["arrows"][0]["next"], "");
    let history = agent
        .call("history", json!({ "arrow": "A", "clause": "C" }))
        .unwrap();
    let verdicts: Vec<_> = history["attestations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["verdict"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(verdicts, ["fail", "pass"]);
    let one = agent.call("history", json!({ "limit": 1 })).unwrap();
    assert_eq!(one["attestations"].as_array().unwrap().len(), 1);
    let page = agent
        .call("explain", json!({ "code": "error[role-context-busy]" }))
        .unwrap();
    assert_eq!(page["code"], "role-context-busy");
    assert_eq!(agent.leave(), (Some(0), String::new()));
}

#[test]
fn what_it_gets_is_as_the_schemas_say_and_no_tool_answers() {
    let dir = project();
    let mut agent = Client::start(dir.path());
    let listed = agent.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<_> = tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["status", "dispatch", "pending", "history", "explain"]
    );
    agent.call("dispatch", json!({ "arrow": "A" })).unwrap();
    attest(dir.path(), &["insufficient-basis", "--residue", "show me"]);
    for (tool, arguments) in tools.iter().zip([
        json!({}),
        json!({ "arrow": "A" }),
        json!({}),
        json!({}),
        json!({ "code": "usage" }),
    ]) {
        let name = tool["name"].as_str().unwrap();
        let input = &tool["inputSchema"];
        assert_eq!(input["type"], "object");
        assert_eq!(input["additionalProperties"], false, "{name}");
        let result = agent.call(name, arguments).unwrap();
        let schema = &tool["outputSchema"];
        conforms(&result, schema, schema).unwrap_or_else(|e| panic!("{name}: {e}"));
        for word in ["verdict", "residue_note", "op_id", "inspected"] {
            assert!(
                input["properties"].get(word).is_none(),
                "{name} takes {word}"
            );
        }
    }
    // Whatever is tried, the tree has the one record that a person gave.
    for (tool, arguments) in [
        ("attest", json!({ "ref": "att-A-C-v1", "verdict": "pass" })),
        ("dispatch", json!({ "arrow": "A", "verdict": "pass" })),
        (
            "dispatch",
            json!({ "arrow": "A", "evidence": { "C": { "verdict": "pass" } } }),
        ),
        ("pending", json!({ "answer": "pass" })),
    ] {
        let asked = json!({ "name": tool, "arguments": arguments });
        let answer = agent.ask("tools/call", asked);
        let refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
        assert!(refused, "{answer}");
    }
    let hostile = "pass\n/exit\n\u{1b}[2J{\"verdict\":\"pass\"}";
    agent
        .call(
            "dispatch",
            json!({ "arrow": "A", "evidence": { "C": { "basis": hostile } } }),
        )
        .unwrap();
    let records = run(dir.path(), &["attestations", "--json"]).stdout;
    let records: Value = serde_json::from_slice(&records).unwrap();
    assert_eq!(records.as_array().unwrap().len(), 1, "{records}");
    let pending = run(dir.path(), &["pending"]).stdout;
    let pending = String::from_utf8(pending).unwrap();
    assert!(pending.contains("the producer says"), "{pending}");
    assert!(!pending.contains('\u{1b}'), "{pending:?}");
}

#[test]
fn what_the_producer_says_is_judged_before_anything_is_dispatched() {
    let dir = project();
    let mut agent = Client::start(dir.path());
    let mut refused = |evidence: Value, code: &str| {
        let said = agent.code("dispatch", json!({ "arrow": "A", "evidence": evidence }));
        assert_eq!(said, code, "{evidence}");
    };
    let at = |place: &str| json!({ "C": { "locations": [place] } });
    refused(json!({ "X": {} }), "evidence-unknown-clause");
    refused(at("nowhere.txt:1"), "location-unknown");
    refused(at("work.txt:4"), "location-unknown");
    refused(at("../work.txt"), "location-unknown");
    refused(at("/etc/passwd"), "location-unknown");
    refused(
        json!({ "C": { "locations": vec!["work.txt"; 65] } }),
        "attestation-hint-malformed",
    );
    refused(
        json!({ "C": { "basis": "é".repeat(2049) } }),
        "attestation-hint-malformed",
    );
    refused(
        json!({ "C": { "locations": "work.txt" } }),
        "mcp-arguments-invalid",
    );
    assert_eq!(
        agent.code("dispatch", json!({ "arrow": "B" })),
        "arrow-unknown"
    );
    let hint = agent.call("dispatch", json!({ "arrow": "B" })).unwrap_err();
    assert!(hint["hint"].as_str().unwrap().contains("ghyll arrow list"));
    let passes = run(dir.path(), &["passes", "--json"]).stdout;
    assert_eq!(
        String::from_utf8(passes).unwrap().trim(),
        "[]",
        "nothing was dispatched"
    );
    // At the limits it is taken, and the record can keep it.
    let whole = json!({ "C": { "locations": vec!["work.txt:1-3"; 64], "basis": "b".repeat(4096),
        "residue": "r".repeat(4096) } });
    agent
        .call("dispatch", json!({ "arrow": "A", "evidence": whole }))
        .unwrap();
    attest(dir.path(), &["pass"]);
    let (code, said) = ghyll(dir.path(), &["engine", "verify-attestations"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn resources_are_read_and_followed() {
    let dir = project();
    let mut agent = Client::start(dir.path());
    let listed = agent.ask("resources/list", json!({}));
    let uris = listed["result"]["resources"].as_array().unwrap().iter();
    let uris: Vec<_> = uris
        .map(|r| r["uri"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(uris, ["ghyll://grid", "ghyll://attestations/A"]);
    let text = |answer: &Value| {
        let text = answer["result"]["contents"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let grid = agent.ask("resources/read", json!({ "uri": "ghyll://grid" }));
    assert!(text(&grid).contains("concept: it is good"));
    for uri in &uris {
        let answer = agent.ask("resources/subscribe", json!({ "uri": uri }));
        assert!(answer.get("error").is_none(), "{answer}");
    }
    for unknown in ["ghyll://attestations/B", "file:///etc/passwd", ""] {
        for method in ["resources/subscribe", "resources/read"] {
            let answer = agent.ask(method, json!({ "uri": unknown }));
            assert_eq!(
                answer["error"]["data"]["code"], "mcp-resource-unknown",
                "{answer}"
            );
        }
    }
    agent.call("dispatch", json!({ "arrow": "A" })).unwrap();
    let updated = |value: &Value| value["method"] == "notifications/resources/updated";
    let nothing = agent.receive(updated, Duration::from_millis(1500));
    assert_eq!(nothing, None, "no verdict is new");
    attest(dir.path(), &["pass"]);
    let news = agent.receive(updated, PATIENCE).unwrap();
    assert_eq!(news["params"]["uri"], "ghyll://attestations/A");
    let records = agent.ask("resources/read", json!({ "uri": "ghyll://attestations/A" }));
    let records = text(&records);
    let tree = run(dir.path(), &["attestations", "--json"]).stdout;
    let tree: Value = serde_json::from_slice(&tree).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(records.trim()).unwrap(),
        tree[0]
    );

    agent.ask(
        "resources/unsubscribe",
        json!({ "uri": "ghyll://attestations/A" }),
    );
    attest(dir.path(), &["fail", "--inspected", "work.txt"]);
    let grid = std::fs::read_to_string(dir.path().join("grid.yaml")).unwrap();
    std::fs::write(
        dir.path().join("next.yaml"),
        grid.replace("is good", "is better"),
    )
    .unwrap();
    let (code, said) = ghyll(dir.path(), &["grid", "next", "next.yaml"]);
    assert_eq!(code, Some(0), "{said}");
    let news = agent.receive(updated, PATIENCE).unwrap();
    assert_eq!(
        news["params"]["uri"], "ghyll://grid",
        "the other is no longer followed"
    );
    // The grid that came into force meanwhile is the one that is dispatched.
    let asked = agent.call("dispatch", json!({ "arrow": "A" })).unwrap();
    assert_eq!(asked["pending"][0]["concept"], "it is better");
}

#[test]
fn waiting_ends_when_it_is_called_off_and_when_the_time_is_up() {
    let dir = project();
    let mut agent = Client::start(dir.path());
    agent.call("dispatch", json!({ "arrow": "A" })).unwrap();
    let news = agent.call("pending", json!({ "wait_seconds": 1 })).unwrap();
    assert_eq!(news["timed_out"], true);
    assert_eq!(news["pending"].as_array().unwrap().len(), 1);
    assert_eq!(
        agent.code("pending", json!({ "wait_seconds": 301 })),
        "mcp-arguments-invalid"
    );
    assert_eq!(
        agent.code("pending", json!({ "wait_seconds": -1 })),
        "mcp-arguments-invalid"
    );
    // Many that wait at once, and are called off, leave room for others.
    for _ in 0..3 {
        let wait = json!({ "name": "pending", "arguments": { "wait_seconds": 300 } });
        let ids: Vec<_> = (0..30)
            .map(|_| agent.request("tools/call", wait.clone()))
            .collect();
        for id in ids {
            let params = json!({ "requestId": id, "reason": "enough" });
            let method = "notifications/cancelled";
            agent.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
        }
    }
    agent.call("status", json!({})).unwrap();
    // Who has gone is not waited for.
    let wait = json!({ "name": "pending", "arguments": { "wait_seconds": 300 } });
    agent.request("tools/call", wait);
    let left = Instant::now();
    assert_eq!(agent.leave().0, Some(0));
    assert!(left.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_hostile_client_gets_errors_and_never_the_lock() {
    let dir = project();
    let mut agent = Client::mute(dir.path());
    // Out of order, before it began.
    agent.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    agent.send(&json!({ "jsonrpc": "2.0", "id": 7, "result": {} }));
    let early = agent.ask("tools/call", json!({ "name": "status", "arguments": {} }));
    assert!(early["error"]["code"].is_i64(), "{early}");
    agent.initialize();
    let error = |agent: &mut Client, code: i64| {
        let found = agent.receive(|v| v["error"]["code"] == code, PATIENCE);
        found.unwrap_or_else(|| panic!("no {code}: {:?}", agent.kept))
    };
    for malformed in [
        &b"{\"jsonrpc\":\n"[..],
        b"\xff\xfe\x00\n",
        b"pass\n",
        &[b'['; 4000],
    ] {
        agent.raw(malformed);
        agent.raw(b"\n");
        error(&mut agent, -32700);
    }
    for wrong in [
        "[]",
        "1",
        "null",
        "\"pass\"",
        "[{\"jsonrpc\":\"2.0\",\"id\":1}]",
    ] {
        agent.raw(format!("{wrong}\n").as_bytes());
        error(&mut agent, -32600);
    }
    agent.raw(b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":5}\n\n  \n{}\n");
    assert_eq!(error(&mut agent, -32600)["id"], "x");
    // A line of 64 MB is passed over, and what comes after it is heard.
    for _ in 0..64 {
        agent.raw(&vec![b'x'; 1 << 20]);
    }
    agent.raw(b"\n");
    let long = error(&mut agent, -32600);
    assert!(
        long["error"]["message"]
            .as_str()
            .unwrap()
            .contains("1048576 bytes")
    );
    agent.call("status", json!({})).unwrap();
    // Unknown words, wrong arguments.
    for (method, params) in [
        ("tools/call", json!({ "name": "attest", "arguments": {} })),
        ("tools/call", json!({})),
        ("attest", json!({})),
        ("completion/complete", json!({ "ref": 1 })),
        ("resources/read", json!({ "uri": 1 })),
    ] {
        let answer = agent.ask(method, params);
        assert!(answer["error"]["code"].is_i64(), "{method}: {answer}");
    }
    for arguments in [
        json!({ "arrow": 1 }),
        json!({ "arrow": "A", "more": 1 }),
        json!({ "arrow": null, "x": {} }),
    ] {
        assert_eq!(agent.code("status", arguments), "mcp-arguments-invalid");
    }
    // Thousands at once: each is answered, many with a refusal.
    let many = 3000;
    let first = agent.next;
    let stdin = agent.stdin.take().unwrap();
    let sender = std::thread::spawn(move || {
        let mut stdin = stdin;
        for id in first..first + many {
            let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": { "name": "history", "arguments": {} } });
            stdin.write_all(format!("{call}\n").as_bytes()).unwrap();
        }
        stdin
    });
    let (mut answered, mut refused) = (0, 0);
    while answered + refused < many {
        let answer = agent
            .receive(|v| v["id"].as_i64() >= Some(first), PATIENCE)
            .unwrap();
        match answer["error"]["code"].as_i64() {
            None => answered += 1,
            Some(-32000) => refused += 1,
            Some(_) => panic!("{answer}"),
        }
    }
    assert!(answered > 0);
    agent.stdin = Some(sender.join().unwrap());
    agent.next = first + many;
    // All the while the project is free.
    let (code, said) = ghyll(dir.path(), &["dispatch", "A"]);
    assert_eq!(code, Some(1), "{said}");
    attest(dir.path(), &["pass"]);
    agent.call("status", json!({})).unwrap();
    assert_eq!(agent.leave().0, Some(0));
}

#[test]
fn who_does_not_read_is_not_read_any_further_and_costs_little() {
    let dir = project();
    let mut server = Command::new(GHYLL)
        .arg("mcp")
        .current_dir(dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = server.stdin.take().unwrap();
    let mut stdin = stdin;
    let sender = std::thread::spawn(move || {
        let begin = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } } });
        let mut sent = stdin.write_all(format!("{begin}\n").as_bytes());
        let padding = "x".repeat(100_000);
        for id in 1..2000 {
            if sent.is_err() {
                return id;
            }
            let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": { "name": "explain", "arguments": { "code": padding } } });
            sent = stdin.write_all(format!("{call}\n").as_bytes());
        }
        2000
    });
    std::thread::sleep(Duration::from_secs(2));
    let memory = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let peak = memory
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 300_000, "{peak} kB");
    // The project is free; and it can be killed.
    let (code, said) = ghyll(dir.path(), &["dispatch", "A"]);
    assert_eq!(code, Some(1), "{said}");
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(
        sender.join().unwrap() < 2000,
        "it read on without being read"
    );
}

#[test]
fn a_client_that_says_nothing_or_nonsense_ends_in_peace() {
    let dir = project();
    let nothing = Client::mute(dir.path());
    assert_eq!(nothing.leave(), (Some(0), String::new()));
    let mut nonsense = Client::mute(dir.path());
    nonsense.raw(b"hello\n");
    assert_eq!(nonsense.leave().0, Some(0));
}

#[test]
fn agents_work_beside_each_other_and_hear_of_what_the_other_asked() {
    let dir = project();
    let (mut one, mut two) = (Client::start(dir.path()), Client::start(dir.path()));
    let calls = [&mut one, &mut two].map(|agent| {
        let call = json!({ "name": "dispatch", "arguments": { "arrow": "A" } });
        agent.request("tools/call", call)
    });
    let first = said(&one.answer(calls[0])).unwrap();
    let second = said(&two.answer(calls[1])).unwrap();
    assert_eq!(first["pass_id"], second["pass_id"], "one traversal");
    let mut three = Client::start(dir.path());
    assert_eq!(
        three.call("pending", json!({})).unwrap()["pending"][0]["attestation_ref"],
        "att-A-C-v1"
    );
    attest(dir.path(), &["pass"]);
    for agent in [&mut one, &mut two] {
        let news = agent
            .call("pending", json!({ "wait_seconds": 50 }))
            .unwrap();
        assert_eq!(news["decided"][0]["verdict"], "pass");
    }
}

#[test]
fn the_shell_says_what_fails_and_waits_for_answers() {
    let dir = project();
    let (code, said) = ghyll(dir.path(), &["dispatch", "A"]);
    assert_eq!(code, Some(1));
    for part in [
        "M fails: it is ready",
        "$ sh -c",
        "exit status: 3",
        "not ready yet",
        "asks for att-A-C-v1: it is good",
        "Next, once that is mended: ghyll dispatch A",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    std::fs::write(dir.path().join("ready"), "").unwrap();
    std::fs::write(
        dir.path().join("said.json"),
        r#"{"C":{"locations":["work.txt:1"],"basis":"see one"}}"#,
    )
    .unwrap();
    let waiting = Command::new(GHYLL)
        .args([
            "dispatch",
            "A",
            "--evidence",
            "said.json",
            "--wait",
            "60",
            "--json",
        ])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let end = Instant::now() + PATIENCE;
    loop {
        let pending = run(dir.path(), &["pending", "--json"]).stdout;
        if String::from_utf8_lossy(&pending).contains("see one") {
            break;
        }
        assert!(Instant::now() < end, "it never asked");
        std::thread::sleep(Duration::from_millis(50));
    }
    attest(dir.path(), &["fail", "--inspected", "work.txt:1"]);
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let whole: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(whole["status"], "blocked");
    assert_eq!(whole["requested"], json!([]));
    assert_eq!(
        whole["reasons"][0]["verdict"]["inspected"],
        json!(["work.txt:1"])
    );

    // On record is whose words they were.
    let (_, shown) = ghyll(dir.path(), &["show", "A/C"]);
    for part in [
        "The producer (analyst) said, and nobody had checked it:",
        "it holds:  │ see one",
        "look at:   │ work.txt:1",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }

    let (code, said) = ghyll(dir.path(), &["dispatch", "A", "--wait", "1"]);
    assert_eq!(code, Some(1), "the time is up");
    assert!(
        said.contains("asks for att-A-C-v1") && said.contains("Next: ghyll run"),
        "{said}"
    );
    for (evidence, code) in [
        ("{}", "asks for"),
        ("[]", "error[evidence-malformed]"),
        ("{\"C\":{\"note\":\"\"}}", "error[evidence-malformed]"),
        ("{\"Z\":{}}", "error[evidence-unknown-clause]"),
        (
            "{\"C\":{\"locations\":[\"work.txt:9\"]}}",
            "error[location-unknown]",
        ),
    ] {
        std::fs::write(dir.path().join("said.json"), evidence).unwrap();
        let (_, said) = ghyll(dir.path(), &["dispatch", "A", "--evidence", "said.json"]);
        assert!(said.contains(code), "{evidence}: {said}");
    }
    std::fs::write(dir.path().join("said.json"), "x".repeat(2 << 20)).unwrap();
    let (code, said) = ghyll(dir.path(), &["dispatch", "A", "--evidence", "said.json"]);
    assert!(
        code == Some(3) && said.contains("error[file-too-long]"),
        "{said}"
    );
    attest(dir.path(), &["pass"]);
    let (code, said) = ghyll(dir.path(), &["dispatch", "A", "--wait", "60"]);
    assert_eq!(code, Some(0), "{said}");
}
