-- The engine database. First part: an index derived from the audit tree, which
-- can be made anew at any time. Second part: the session's own state.

-- How far each file of the tree was read.
CREATE TABLE file_heads (
    file_id     INTEGER PRIMARY KEY,
    path        TEXT NOT NULL UNIQUE,
    bytes       INTEGER NOT NULL,
    lines       INTEGER NOT NULL,
    chain       TEXT NOT NULL,
    -- Where the last line starts, and the file's mtime when it was indexed.
    last_offset INTEGER NOT NULL,
    mtime_ns    INTEGER NOT NULL
);

-- One row a record: the fields of its line, and where the line stands.
CREATE TABLE attestations (
    attestation_id    TEXT NOT NULL,
    kind              TEXT NOT NULL CHECK (kind IN ('depth-type', 'on-the-spot')),
    arrow_id          TEXT NOT NULL,
    clause_id         TEXT NOT NULL,
    op_id             TEXT NOT NULL,
    attested_by_role  TEXT NOT NULL,
    source_role       TEXT NOT NULL,
    target_role       TEXT NOT NULL,
    adversary_role    TEXT NOT NULL,
    verdict           TEXT NOT NULL,
    reason            TEXT NOT NULL,
    timestamp         TEXT NOT NULL,
    grid_version      INTEGER NOT NULL,
    pass_id           TEXT NOT NULL CHECK (pass_id <> ''),
    context           TEXT NOT NULL,
    stratum           TEXT NOT NULL,
    unit              TEXT NOT NULL,
    unit_payload_json TEXT NOT NULL,
    hint_json         TEXT NOT NULL DEFAULT '{}',
    chain             TEXT NOT NULL,
    attestation_ref   TEXT NOT NULL,
    round             INTEGER NOT NULL,
    -- Its place in the history: its time, but never before an earlier round.
    listed_at         TEXT NOT NULL,
    file_id           INTEGER NOT NULL,
    line              INTEGER NOT NULL,
    offset            INTEGER NOT NULL,
    length            INTEGER NOT NULL,
    CHECK ((kind = 'depth-type') = (clause_id <> '')),
    CHECK (attested_by_role <> source_role AND attested_by_role <> target_role)
);
CREATE INDEX attestations_by_ref ON attestations (attestation_ref, round);
CREATE INDEX attestations_by_time ON attestations (listed_at, attestation_ref, round);
CREATE INDEX attestations_by_arrow ON attestations (arrow_id, listed_at);
CREATE INDEX attestations_on_the_spot ON attestations (grid_version) WHERE kind = 'on-the-spot';
CREATE INDEX attestations_by_file ON attestations (file_id, line);

-- Where each ref stands: its records, folded in order of rounds.
CREATE TABLE standings (
    attestation_ref TEXT NOT NULL PRIMARY KEY,
    round           INTEGER NOT NULL,
    verdict         TEXT NOT NULL,
    pass_id         TEXT NOT NULL,
    listed_at       TEXT NOT NULL,
    -- Verdicts without a basis in a row, all in the pass above.
    basis_streak    INTEGER NOT NULL,
    routed_upstream INTEGER NOT NULL,
    open_findings   INTEGER NOT NULL,
    -- Whether the newest round was given more than once.
    concurrent      INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE findings (
    finding_id      INTEGER PRIMARY KEY,
    -- Empty for what a command found.
    attestation_ref TEXT NOT NULL,
    arrow_id        TEXT NOT NULL,
    clause_id       TEXT NOT NULL,
    grid_version    INTEGER NOT NULL,
    pass_id         TEXT NOT NULL,
    type            TEXT NOT NULL,
    severity        TEXT NOT NULL CHECK (severity IN ('info', 'low', 'medium', 'high', 'critical')),
    status          TEXT NOT NULL CHECK (status IN ('open', 'resolved', 'accepted-risk')),
    detail          TEXT NOT NULL,
    raised_at       TEXT NOT NULL,
    raised_by       TEXT NOT NULL,
    disposed_by     TEXT NOT NULL DEFAULT ''
);
CREATE INDEX findings_by_clause ON findings (arrow_id, clause_id, grid_version, status);
CREATE INDEX findings_by_ref ON findings (attestation_ref);
CREATE INDEX findings_by_status ON findings (status);

CREATE TABLE passes (
    pass_id        TEXT NOT NULL PRIMARY KEY,
    arrow_id       TEXT NOT NULL,
    role           TEXT NOT NULL,
    context        TEXT NOT NULL,
    stratum        TEXT NOT NULL,
    source_role    TEXT NOT NULL,
    target_role    TEXT NOT NULL,
    adversary_role TEXT NOT NULL,
    grid_version   INTEGER NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('open', 'closed', 'aborted')),
    reason         TEXT NOT NULL DEFAULT '',
    opened_at      TEXT NOT NULL,
    ended_at       TEXT NOT NULL DEFAULT '',
    recovered_at   TEXT NOT NULL DEFAULT '',
    -- Whose process traverses it, and whether all it asks for was asked.
    session_id     TEXT NOT NULL,
    asked          INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX one_open_pass ON passes (role, context) WHERE status = 'open';
CREATE INDEX passes_by_status ON passes (status, opened_at);

-- What a pass asks of operators. Whether it still waits is read off the ref's
-- standing; the round asked for is the one after it.
CREATE TABLE requests (
    request_id      INTEGER PRIMARY KEY,
    attestation_ref TEXT NOT NULL,
    pass_id         TEXT NOT NULL,
    arrow_id        TEXT NOT NULL,
    clause_id       TEXT NOT NULL,
    concept         TEXT NOT NULL,
    context         TEXT NOT NULL,
    stratum         TEXT NOT NULL,
    source_role     TEXT NOT NULL,
    target_role     TEXT NOT NULL,
    adversary_role  TEXT NOT NULL,
    grid_version    INTEGER NOT NULL,
    -- The newest round when it was asked last, and the record known to answer it.
    asked_after     INTEGER NOT NULL,
    -- The pass of the record that counted then: another branch may have another.
    asked_upon      TEXT NOT NULL DEFAULT '',
    answered_by     TEXT NOT NULL DEFAULT '',
    -- What the producer says, as JSON.
    evidence_json   TEXT NOT NULL DEFAULT '{}'
);
CREATE UNIQUE INDEX one_request_a_ref ON requests (pass_id, attestation_ref);
CREATE INDEX requests_by_ref ON requests (attestation_ref, request_id);

-- What the producer said of clauses before they were asked for, as JSON.
CREATE TABLE producer_words (
    arrow_id      TEXT NOT NULL,
    clause_id     TEXT NOT NULL,
    evidence_json TEXT NOT NULL,
    PRIMARY KEY (arrow_id, clause_id)
) WITHOUT ROWID;

-- What commands came to.
CREATE TABLE evaluation_runs (
    run_id       INTEGER PRIMARY KEY,
    pass_id      TEXT NOT NULL,
    arrow_id     TEXT NOT NULL,
    clause_id    TEXT NOT NULL,
    grid_version INTEGER NOT NULL,
    outcome      TEXT NOT NULL CHECK (outcome IN ('pass', 'fail')),
    detail       TEXT NOT NULL,
    at           TEXT NOT NULL
);
CREATE INDEX runs_by_clause ON evaluation_runs (arrow_id, clause_id, grid_version, run_id);

-- Digests of covered files, and what each looked like when it was read.
CREATE TABLE digests (
    path       TEXT NOT NULL PRIMARY KEY,
    size       INTEGER NOT NULL,
    mtime_ns   INTEGER NOT NULL,
    ctime_ns   INTEGER NOT NULL,
    inode      INTEGER NOT NULL,
    sha256     TEXT NOT NULL,
    seen_at_ns INTEGER NOT NULL
) WITHOUT ROWID;

-- What a start of a session found out and need not find out again.
CREATE TABLE notes (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
