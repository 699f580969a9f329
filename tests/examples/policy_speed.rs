//! How fast the policy judges lines, natively and as the component: `cargo run
//! --release -p ghyll-tests --example policy_speed`.

use std::time::{Duration, Instant};

use ghyll::policy as host;
use ghyll_policy as native;

/// Healthy lines of one pass file, at least so many bytes.
fn file(bytes: usize) -> String {
    let (mut chain, mut text, mut round) = (String::new(), String::new(), 1);
    while text.len() < bytes {
        let rec = native::Attestation {
            attestation_id: native::attestation_id("att-A-checkout-C1-v1", round),
            kind: "depth-type".into(),
            arrow_id: "A-checkout".into(),
            clause_id: "C1".into(),
            op_id: "alice@example.com".into(),
            attested_by_role: "operator".into(),
            source_role: "analyst".into(),
            target_role: "architect".into(),
            verdict: "fail".into(),
            reason: "via:terminal".into(),
            timestamp: format!("2026-05-25T10:11:12.{round:09}Z"),
            grid_version: 1,
            pass_id: "01890a5d-ac96-774b-bcce-b302099a8057".into(),
            context: "checkout".into(),
            stratum: "domain".into(),
            unit: "record-locations-inspected".into(),
            unit_payload_json: r#"{"inspected":["src/cart.rs:10-24"]}"#.into(),
            hint_json: r#"{"arrow_id":"A-checkout","clause_id":"C1","concept":"prices are right","attestation_ref":"att-A-checkout-C1-v1"}"#.into(),
            ..native::Attestation::default()
        };
        let line = native::encode_line(&rec, &chain).expect("a line");
        chain = line.chain;
        text.push_str(&line.line);
        round += 1;
    }
    text
}

/// Megabytes a second, the best of many.
fn speed(bytes: usize, mut run: impl FnMut()) -> f64 {
    let mut best = Duration::MAX;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(2) {
        let one = Instant::now();
        run();
        best = best.min(one.elapsed());
    }
    bytes as f64 / best.as_secs_f64() / 1e6
}

fn main() {
    let policy = host::Policy::load().expect("the component");
    let path =
        "v1/checkout/stratum-domain/analyst__architect/01890a5d-ac96-774b-bcce-b302099a8057.jsonl";
    for size in [64 << 10, 1 << 20] {
        let text = file(size);
        let lines = text.lines().count();
        let from = native::Cursor::start(native::Surface::Tree(path.into()));
        let natively = speed(text.len(), || {
            let checked = native::check_lines(text.as_bytes(), &from, &native::Limits::default());
            assert!(checked.lines.iter().all(|line| line.problems.is_empty()));
        });
        for surface in [host::Surface::Tree(path.into()), host::Surface::Flat] {
            let flat = matches!(surface, host::Surface::Flat);
            let from = host::Cursor {
                surface,
                bytes: 0,
                lines: 0,
                chain: String::new(),
                skipped: 0,
                at_end: false,
            };
            let limits = host::Limits {
                max_residue_bytes: 0,
            };
            let component = speed(text.len(), || {
                let checked = policy
                    .check_lines(text.as_bytes(), &from, limits)
                    .expect("an answer");
                assert_eq!(checked.lines.len(), lines);
            });
            println!(
                "{size} bytes, {lines} lines{}: native {natively:.0} MB/s, component {component:.0} MB/s, {:.2} us a line",
                if flat { ", flat (nothing hashed)" } else { "" },
                text.len() as f64 / lines as f64 / component,
            );
        }
    }
}
