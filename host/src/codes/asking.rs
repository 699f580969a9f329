//! Dispatching, asking and answering: who answers, with what, and when.

use super::pages;

pages! {
    ARROW_UNKNOWN = "arrow-unknown": "The grid in force has no such arrow.",
        "`ghyll arrow list` lists them.";
    CLAUSE_UNKNOWN = "clause-unknown": "The arrow has no such clause.",
        "`ghyll arrow show ARROW` lists its clauses.";
    ROLE_CONTEXT_BUSY = "role-context-busy": "Another arrow's pass is open for the same role in the same context.",
        "Answer what it asks (`ghyll pending`), or end it with `ghyll pass abort PASS --reason TEXT`.";
    DISPATCH_DEADLINE_EXCEEDED = "dispatch-deadline-exceeded": "The time that was left did not do for the arrow's commands.",
        "Dispatch it again with more time, or lower the clauses' timeout-s.";
    MACHINE_CLAUSE_UNRUNNABLE = "machine-clause-unrunnable": "A machine clause's command could not be started.",
        "Look at `run` in the grid: the program has to be on the PATH or named from the project's root.";
    ATTESTATION_NO_PASS_FOR_REF = "attestation-no-pass-for-ref": "Nothing ever asked for that ref.",
        "`ghyll dispatch ARROW` first; `ghyll pending` shows what is asked.";
    ATTESTATION_SUBJECT_CHANGED = "attestation-subject-changed": "The files are no longer those that were shown with the question.",
        "Look at what changed and answer again; without --subject `ghyll attest` takes the files as they are.";
    ESCALATION_DUE = "escalation-due": "The clause found no basis too often: only accepted-risk or route-upstream decide it now.",
        "Give one of the two: `ghyll attest REF accepted-risk --residue TEXT`, or route-upstream.";
    ESCALATION_NOT_DUE = "escalation-not-due": "accepted-risk and route-upstream answer an escalation, and none is due on the clause.",
        "Answer pass, fail or insufficient-basis.";
    EVIDENCE_UNKNOWN_CLAUSE = "evidence-unknown-clause": "The producer's evidence names a clause the arrow does not have; nothing was dispatched, and nothing of it kept.",
        "`ghyll arrow show ARROW` lists its clauses.";
    LOCATION_UNKNOWN = "location-unknown": "A place that was named is not in the project, or the file has fewer lines.",
        "Correct it as FILE, FILE:LINE or FILE:FIRST-LAST, from the project's root; `ghyll attest --keep` records it as given.";
    EVIDENCE_MALFORMED = "evidence-malformed": "What the producer says is not in the form that is taken; nothing was dispatched, and nothing of it kept.",
        "Give JSON, a key for each clause: {\"C1\":{\"locations\":[\"src/a.rs:3-9\"],\"basis\":\"why it holds\",\"residue\":\"what is left open\"}}.";
    SUBJECT_EMPTY = "subject-empty": "What the clause covers matches no file, so there is nothing to judge.",
        "Make the files, or mend `covers` in a copy of the grid and bring it into force: `ghyll grid next FILE`.";
    SUBJECT_MISSING = "subject-missing": "The list of files a verdict was about is not there any more.",
        "Restore .ghyll/subjects from version control; the verdict itself stands.";
    SUBJECT_CORRUPT = "subject-corrupt": "The list of files a verdict was about is not what its digest says.",
        "Restore the file below .ghyll/subjects from version control, or give the next verdict on the same files, which writes it anew.";
    OP_ID_REQUIRED = "op-id-required": "Nobody answers yet, and a verdict needs a name.",
        "Say who you are: /op-id ID in a session, --op-id ID on the command line, or GHYLL_OP_ID.";
    OP_ID_TOO_LONG = "op-id-too-long": "The op-id is longer than 256 bytes.",
        "Use a shorter one, such as an e-mail address.";
    OP_ID_INVALID_CHARACTERS = "op-id-invalid-characters": "The op-id has characters that no op-id may have: blanks, slashes, or what cannot be seen.",
        "Use a name without blanks, such as an e-mail address; /op-id clear has nobody answer.";
    VERDICT_UNIT_INVALID = "verdict-unit-invalid": "The shape of evidence is none of the three.",
        "Use confirm, record-locations-inspected or write-residue-note.";
    VERDICT_UNIT_UNEXPECTED_FIELD = "verdict-unit-unexpected-field": "The evidence has a part that its shape does not have.",
        "Leave the part out, or give a note with it: a note may name places too.";
    VERDICT_INSPECTED_EMPTY = "verdict-inspected-empty": "No place is named, and this verdict needs one.",
        "Name where you looked: --inspected FILE:LINES, or in a session FILE:LINES, separated by commas.";
    VERDICT_UNIT_MISSING_FIELD = "verdict-unit-missing-field": "The note is blank, and this verdict needs one.",
        "Say it in a line: --residue TEXT or --residue @FILE, or in a session at the prompt.";
    VERDICT_RESIDUE_TOO_LONG = "verdict-residue-too-long": "The note is longer than the grid allows.",
        "Shorten it, or name a file that says more; residue-note-max-bytes in the grid sets the limit.";
    VERDICT_UNIT_INSUFFICIENT = "verdict-unit-insufficient": "The verdict needs stronger evidence than was given.",
        "A fail needs --inspected FILE:LINES; insufficient-basis, accepted-risk and route-upstream need --residue TEXT.";
    RESIDUE_FILE_UNREADABLE = "residue-file-unreadable": "The file named by --residue @FILE cannot be read.",
        "Look at the path; a note that begins with @ itself goes into a file.";
    MODAL_LEFT = "modal-left": "A question was left without an answer.",
        "It stays pending and is asked again at your next turn.";
    MODAL_WITHDRAWN = "modal-withdrawn": "A question no longer stands: it was answered meanwhile.",
        "Nothing; `ghyll attestations` shows who decided it.";
    MODAL_DRAIN_CAP_EXCEEDED = "modal-drain-cap-exceeded": "Answers kept raising new questions.",
        "What is left is asked at your next turn.";
    RECORD_WRITE_FAILED = "record-write-failed": "The session could not be written as a script.",
        "Give --record a path that can be written; the verdicts themselves are recorded all the same.";
    CLOCK_BEHIND = "clock-behind": "This machine's clock is behind a record that is there already; the new one got the time after it.",
        "Set the clock.";
    ATTESTATION_ASKED_ANEW = "attestation-asked-anew": "The question was answered by somebody else meanwhile, and is asked for another round.",
        "Read what was decided; the question is put again with it.";
    ATTESTATION_NO_LONGER_ASKED = "attestation-no-longer-asked": "The question was decided by somebody else meanwhile, or its pass has ended.",
        "Look at `ghyll attestations`; `ghyll attest` corrects a verdict with the next round.";
    ATTESTATION_UNKNOWN = "attestation-unknown": "No record has that name or that round.",
        "`ghyll attestations` lists the records there are.";
    DISPATCH_CANCELLED = "dispatch-cancelled": "The dispatch was called off; the pass stays open and nothing was decided by it.",
        "Dispatch the arrow again.";
    PASS_UNKNOWN = "pass-unknown": "No pass has this id.",
        "`ghyll passes` lists them.";
    PASS_NOT_OPEN = "pass-not-open": "The pass has ended already.",
        "Nothing: what it asked is no longer asked.";
    SUBJECT_GLOB_INVALID = "subject-glob-invalid": "A glob of a list of covered files cannot be read.",
        "Look at the glob named; write paths from the project's root, with `/`.";
    SUBJECT_NONE = "subject-none": "Nothing was said to be covered there, so there is no list of files.",
        "Give the arrow or the clause `covers` in the next grid.";
    SUBJECT_UNKNOWN = "subject-unknown": "No list of files that is kept begins with these digits.",
        "Look at the digest in `ghyll show`; the list may be missing from this clone.";
    SUBJECT_AMBIGUOUS = "subject-ambiguous": "The arrow's clauses cover different files, so it has no list of its own.",
        "Name a clause: ARROW/CLAUSE.";
    SUBJECT_UNREADABLE = "subject-unreadable": "A covered file, or a directory that may hold one, cannot be read.",
        "Look at the permissions of what is named; nothing is judged on the rest alone.";
    SUBJECT_NAME_INVALID = "subject-name-invalid": "A covered file's name is not UTF-8, so no manifest can hold it.",
        "Rename the file, or exclude it from what is covered.";
    SUBJECT_NOT_A_FILE = "subject-not-a-file": "What is covered is neither a file nor a symbolic link.",
        "Exclude what is named, or move it away.";
    SUBJECT_CHANGING = "subject-changing": "A covered file changed each time it was read.",
        "Wait until whatever writes it is done, and try again.";
    SUBJECT_GIT_UNREADABLE = "subject-git-unreadable": "What git tracks or ignores cannot be found out.",
        "Look at the file of git's that is named; `git status` may say more.";
    SUBJECT_TOO_MANY_FILES = "subject-too-many-files": "More files match than a verdict could be about.",
        "Narrow the globs in the next grid.";
    SUBJECT_TOO_DEEP = "subject-too-deep": "Directories lie inside each other deeper than is looked.",
        "Exclude the directory named.";
    SUBJECT_WRITE_FAILED = "subject-write-failed": "The list of judged files could not be kept, so nothing was recorded.",
        "Make room or mend the permissions below .ghyll/subjects, and answer again.";
}
