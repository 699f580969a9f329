-- The engine database: an index derived from the audit tree (attestations,
-- file_heads), and the session's own state. Losing the first part loses nothing.

CREATE TABLE attestations (
    attestation_id    TEXT NOT NULL PRIMARY KEY,
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
    -- Which request it answers, and where its line stands in the tree.
    attestation_ref   TEXT NOT NULL,
    round             INTEGER NOT NULL,
    path              TEXT NOT NULL,
    line              INTEGER NOT NULL,
    offset            INTEGER NOT NULL,
    length            INTEGER NOT NULL,
    CHECK ((kind = 'depth-type') = (clause_id <> '')),
    CHECK (attested_by_role <> source_role AND attested_by_role <> target_role)
) WITHOUT ROWID;
CREATE INDEX attestations_by_ref ON attestations (attestation_ref, round, timestamp);
CREATE INDEX attestations_by_time ON attestations (timestamp, attestation_id);
CREATE INDEX attestations_by_pass ON attestations (pass_id, arrow_id, clause_id);

-- Records whose verdict has not yet taken effect on the session's state.
CREATE TABLE unacted (
    attestation_id TEXT NOT NULL PRIMARY KEY
) WITHOUT ROWID;

CREATE TABLE file_heads (
    path        TEXT NOT NULL PRIMARY KEY,
    bytes       INTEGER NOT NULL,
    lines       INTEGER NOT NULL,
    chain       TEXT NOT NULL,
    -- Where the last line starts, and the file's mtime when it was indexed.
    last_offset INTEGER NOT NULL,
    mtime_ns    INTEGER NOT NULL
) WITHOUT ROWID;

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
    recovered_at   TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX one_open_pass ON passes (role, context) WHERE status = 'open';

-- What an operator is asked. The newest of a ref is the one that counts.
CREATE TABLE requests (
    request_id      INTEGER PRIMARY KEY,
    attestation_ref TEXT NOT NULL,
    pass_id         TEXT NOT NULL REFERENCES passes (pass_id),
    arrow_id        TEXT NOT NULL,
    clause_id       TEXT NOT NULL,
    concept         TEXT NOT NULL,
    context         TEXT NOT NULL,
    stratum         TEXT NOT NULL,
    source_role     TEXT NOT NULL,
    target_role     TEXT NOT NULL,
    adversary_role  TEXT NOT NULL,
    grid_version    INTEGER NOT NULL,
    round           INTEGER NOT NULL,
    deeper          INTEGER NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('pending', 'answered', 'withdrawn')),
    answered_by     TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX one_pending_request ON requests (attestation_ref) WHERE status = 'pending';
CREATE INDEX requests_by_ref ON requests (attestation_ref, request_id);
CREATE INDEX requests_by_pass ON requests (pass_id, status);

-- What became of a clause in a pass: machine runs and verdicts acted upon.
CREATE TABLE evaluation_runs (
    run_id         INTEGER PRIMARY KEY,
    pass_id        TEXT NOT NULL,
    arrow_id       TEXT NOT NULL,
    clause_id      TEXT NOT NULL,
    grid_version   INTEGER NOT NULL,
    eval           TEXT NOT NULL CHECK (eval IN ('machine', 'attested')),
    outcome        TEXT NOT NULL,
    detail         TEXT NOT NULL,
    attestation_id TEXT NOT NULL DEFAULT '',
    at             TEXT NOT NULL
);
CREATE INDEX runs_by_clause ON evaluation_runs (arrow_id, clause_id, grid_version, run_id);
CREATE UNIQUE INDEX one_run_per_verdict ON evaluation_runs (attestation_id) WHERE attestation_id <> '';

CREATE TABLE findings (
    finding_id     INTEGER PRIMARY KEY,
    arrow_id       TEXT NOT NULL,
    clause_id      TEXT NOT NULL,
    grid_version   INTEGER NOT NULL,
    pass_id        TEXT NOT NULL,
    type           TEXT NOT NULL,
    severity       TEXT NOT NULL CHECK (severity IN ('info', 'low', 'medium', 'high', 'critical')),
    status         TEXT NOT NULL CHECK (status IN ('open', 'resolved', 'accepted-risk')),
    detail         TEXT NOT NULL,
    raised_at      TEXT NOT NULL,
    disposed_by    TEXT NOT NULL DEFAULT ''
);
CREATE INDEX findings_by_clause ON findings (arrow_id, clause_id, grid_version, status);

-- What a start of a session found out and need not find out again.
CREATE TABLE notes (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
