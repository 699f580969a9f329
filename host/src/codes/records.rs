//! Records, the audit tree and what is derived from it.

use super::pages;

pages! {
    ATTESTATION_ID_EMPTY = "attestation-id-empty": "A record has no id.",
        "Whoever wrote it left it out; ghyll itself never does.";
    ATTESTATION_ID_MALFORMED = "attestation-id-malformed": "A record's round is not written as it is counted, or beyond the last there can be.",
        "Rounds are .r2, .r3 and so on, without zeros in front, up to a million.";
    ATTESTATION_ARROW_ID_EMPTY = "attestation-arrow-id-empty": "A record names no arrow.",
        "Whoever wrote it left it out; ghyll itself never does.";
    ATTESTATION_OP_ID_EMPTY = "attestation-op-id-empty": "A record names nobody who answers for it.",
        "Whoever wrote it left it out; ghyll itself never does.";
    ATTESTATION_ATTESTED_BY_ROLE_EMPTY = "attestation-attested-by-role-empty": "A record does not say in which role its operator answered.",
        "Whoever wrote it left it out; ghyll itself never does.";
    ATTESTATION_KIND_INVALID = "attestation-kind-invalid": "A record is neither depth-type nor on-the-spot.",
        "Whoever wrote it used another word; ghyll itself never does.";
    ATTESTATION_DEPTH_TYPE_REQUIRES_CLAUSE_ID = "attestation-depth-type-requires-clause-id": "A depth-type record names no clause.",
        "Name the clause, or record it on the spot for the whole arrow.";
    ATTESTATION_ON_THE_SPOT_REJECTS_CLAUSE_ID = "attestation-on-the-spot-rejects-clause-id": "An on-the-spot record is about the whole arrow, and names a clause.",
        "Leave the clause out, or make it a depth-type record.";
    ATTESTATION_VERDICT_INVALID = "attestation-verdict-invalid": "The verdict is none there is.",
        "Use pass, fail, insufficient-basis, accepted-risk or route-upstream.";
    ATTESTATION_PASS_ID_EMPTY = "attestation-pass-id-empty": "A record belongs to no pass.",
        "Only lines from before the tree may; they live in the flat file.";
    ATTESTATION_SELF_CERT_FORBIDDEN = "attestation-self-cert-forbidden": "Whoever attests, or the adversary, is a party to the arrow.",
        "Have another role answer; look at the arrow's roles in the grid.";
    ATTESTATION_ROLE_INVALID = "attestation-role-invalid": "A role contains __, which separates roles in paths.",
        "Rename the role in the next grid.";
    ATTESTATION_TIMESTAMP_INVALID = "attestation-timestamp-invalid": "A record's time is not of the form 2026-01-31T10:11:12.123456789Z.",
        "Whoever wrote it has to use RFC 3339, UTC, with nine digits.";
    ATTESTATION_GRID_VERSION_INVALID = "attestation-grid-version-invalid": "A record's grid version is not 1 to 2^53 - 1.",
        "Whoever wrote it has to name the grid it was made under.";
    ATTESTATION_HINT_MALFORMED = "attestation-hint-malformed": "What a record says was asked is not of the form it has to have, or is about another clause.",
        "Whoever wrote it has to keep what was shown; ghyll itself does.";
    ATTESTATION_PAYLOAD_MALFORMED = "attestation-payload-malformed": "A record's evidence is not an object of `inspected` and `residue`.",
        "Whoever wrote it has to use that form; ghyll itself does.";
    ATTESTATION_REASON_INVALID = "attestation-reason-invalid": "A record's reason is too long or has control characters.",
        "Shorten it to 3072 bytes of plain text.";
    ATTESTATION_CHAIN_INVALID = "attestation-chain-invalid": "A chain is not 64 lower-case hex digits.",
        "Take the chain of the line before, or 64 zeros at the start of a file.";
    ATTESTATION_CHAIN_BROKEN = "attestation-chain-broken": "A line does not follow from the one before it: something was edited, inserted, moved or removed.",
        "Restore the file from version control; `ghyll engine verify-attestations` names every line.";
    ATTESTATION_CHAIN_ABSENT = "attestation-chain-absent": "An older line has no chain, so what came before it cannot be proved by it.",
        "Nothing: it is read as it is. A checkpoint kept elsewhere proves it from now on.";
    ATTESTATION_LINE_TOO_LONG = "attestation-line-too-long": "A line would be, or is, longer than 1 MiB.",
        "Shorten the note or the places; a damaged file is restored from version control.";
    ATTESTATION_LINE_MALFORMED = "attestation-line-malformed": "A line is no record, or not in the bytes a record has.",
        "Restore the file from version control; marks of a merge conflict are resolved by taking one side.";
    ATTESTATION_LINE_PARTIAL = "attestation-line-partial": "A file ends inside a line: a write was cut off.",
        "The next session cuts it off; what was acknowledged was never in it.";
    ATTESTATION_PATH_MISMATCH = "attestation-path-mismatch": "A record is not in the file where its own fields put it.",
        "Move the file back, or restore it from version control.";
    ATTESTATION_PATH_COMPONENT_TOO_LONG = "attestation-path-component-too-long": "A name is too long or too odd for a path, so a hash stands for it there.",
        "Nothing: the record has the name itself. A shorter name in the next grid reads better.";
    ATTESTATION_PATH_TRUNCATED = "attestation-path-truncated": "A name is too long or too odd for a path, so a hash stands for it there.",
        "Nothing: the record has the name itself. A shorter name in the next grid reads better.";
    ATTESTATION_DUPLICATE = "attestation-duplicate": "A record with this id and another content is there already.",
        "Answer again: a correction is the next round, never an edit.";
    ATTESTATION_AUDIT_WRITE_FAILED = "attestation-audit-write-failed": "The verdict could not be written, and nothing was recorded.",
        "Look at the free space and permissions of .ghyll/attestations, then answer again.";
    ATTESTATION_AUDIT_DURABILITY_FAILED = "attestation-audit-durability-failed": "The verdict is on record, but a copy of it could not be written.",
        "Nothing is lost; the next session catches the copy up from the tree.";
    ATTESTATION_AUDIT_LOST = "attestation-audit-lost": "The index knows records, and the tree is not there.",
        "Restore .ghyll/attestations; only if it is lost for good, `ghyll engine rebuild-index --accept-loss --op-id ID`.";
    ATTESTATION_TAIL_MISSING = "attestation-tail-missing": "A file has fewer records than were seen in it, and git does not account for them: it is not what HEAD has, or no commit has what was seen.",
        "Restore it from version control or the flat file; only if they are lost for good, `ghyll engine rebuild-index --accept-loss --op-id ID`.";
    ATTESTATION_NOT_CHECKED_OUT = "attestation-not-checked-out": "A file of the audit tree is committed, and git's sparse checkout leaves it out, so what it says cannot be read. Nothing is lost.",
        "Bring it back: `git sparse-checkout add .ghyll` in the project's directory, or take out the pattern that excludes it.";
    ATTESTATION_AUDIT_CORRUPT = "attestation-audit-corrupt": "A line in the middle of a file is damaged, or a merge of it was not finished.",
        "Restore the file named from version control (where git left conflict marks, one side whole: `git checkout --ours -- FILE` or `--theirs`, and commit); `ghyll engine verify-attestations` names every problem.";
    ATTESTATION_AUDIT_UNREADABLE = "attestation-audit-unreadable": "A file of the audit tree, or the flat file, cannot be read.",
        "Look at its permissions and at the disk.";
    ATTESTATION_SYMLINK_REFUSED = "attestation-symlink-refused": "Something below .ghyll is a symbolic link, and none is followed there.",
        "Put the file or directory itself in its place.";
    ATTESTATION_FOREIGN_FILE = "attestation-foreign-file": "A file in the audit tree is none that a record could be in.",
        "It is left alone; remove it if you know what put it there.";
    ATTESTATION_AGGREGATE_DIVERGENCE = "attestation-aggregate-divergence": "A record is in one of tree, flat file and index and not in another, or differs there.",
        "`ghyll engine rebuild-index` makes the index anew; a line that only the flat file has is yours to judge.";
    ATTESTATION_NOT_MIGRATED = "attestation-not-migrated": "The flat file holds records from before there was a tree.",
        "The next session that writes moves them into one.";
    FLAT_EXTRA_BYTES = "flat-extra-bytes": "The flat file has bytes that are no line of the tree.",
        "They are left as they are; compare them with `ghyll engine verify-attestations`.";
    ACCEPTED_LOSSES_TOO_MANY = "accepted-losses-too-many": "More is lost than can be accepted line by line.",
        "Restore the tree, or move the damaged file away, which is one loss.";
}
