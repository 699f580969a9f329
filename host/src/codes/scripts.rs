//! Scripts, and what a replay compares.

use super::pages;

pages! {
    SCRIPT_UNREADABLE = "script-unreadable": "The script cannot be read, or is too large.",
        "Look at the path and its permissions.";
    SCRIPT_FAILED = "script-failed": "The script stopped at an error of its own.",
        "Look at the line and column named.";
    SCRIPT_LIMIT_EXCEEDED = "script-limit-exceeded": "The script went beyond what a script may use: operations, depth, memory or time.",
        "Look at the line named for a loop without end; --deadline-s gives more time.";
    SCRIPT_ANSWER_INVALID = "script-answer-invalid": "verdict(hint) or escalation(hint) returned what is no answer to it.",
        "Return pass(), fail([…]), insufficient_basis(…) or skip(); for an escalation accept_risk(…) or route_upstream(…).";
    SCRIPT_EVIDENCE_INVALID = "script-evidence-invalid": "Evidence given by a script is not of the form it has to have.",
        "Write it as #{inspected: [\"a.rs:1-3\"], residue: \"…\"}.";
    SCRIPT_ESCALATION_MISSING = "script-escalation-missing": "A clause is escalated and the script has no escalation(hint).",
        "Add fn escalation(hint) { accept_risk(\"…\") } or route_upstream.";
    SCRIPT_CALL_IN_MODAL = "script-call-in-modal": "A script called something that is not to be had while a question is open.",
        "Make the call at the top level, and only answer in verdict and escalation.";
    SESSION_CLOSED = "session-closed": "restart() failed, so the script has no session any more.",
        "Look at the error before it.";
    REPLAY_CLOCK_BEHIND = "replay-clock-behind": "The project has records later than the clock a replay was given.",
        "Replay with a clock on a fresh project, or leave out --clock and --seed.";
    EXPECTATION_FAILED = "expectation-failed": "expect(…) was given something that is not so.",
        "Look at the line named; the project did otherwise than the script says.";
    GOLDEN_UNREADABLE = "golden-unreadable": "The tree to compare with cannot be read.",
        "Give --expect the directory of a project or of an audit tree.";
    GOLDEN_TREE_DIFFERS = "golden-tree-differs": "The audit tree is not the one that was expected.",
        "Replay with the same --clock and --seed on a fresh project; what differs is named.";
    JUNIT_WRITE_FAILED = "junit-write-failed": "The JUnit report could not be written.",
        "Give --junit a path that can be written.";
    SCRIPT_NOT_A_FILE = "script-not-a-file": "The script is a directory, a device or a pipe.",
        "Name an ordinary file.";
    SCRIPT_TOO_LARGE = "script-too-large": "The script is longer than is read.",
        "The message names the most it may be.";
    SCRIPT_JSON_INVALID = "script-json-invalid": "parse_json was given what is no JSON.",
        "Look at the line named.";
    SCRIPT_VALUE_INVALID = "script-value-invalid": "A value cannot be shown to a script.",
        "Report it with the script that did it.";
}
