-- The schema of the embedded store after all migrations. Written by a test; never run.

CREATE TABLE accounts (
    user_id  text    not null primary key,
    granted  integer not null,
    reserved integer not null,
    spent    integer not null
) strict, without rowid;

CREATE TABLE api_keys (
    id         text    not null primary key,
    role       text    not null,
    user_id    text,
    digest     blob    not null,
    created_at integer not null,
    created_by text    not null,
    revoked_at integer
, details text, last_used_at integer) strict, without rowid;

CREATE TABLE asset_garbage (
    storage_path text    not null primary key,
    due_at       integer not null
) strict, without rowid;

CREATE TABLE assets (
    id           blob    not null primary key,
    job_id       blob    not null,
    user_id      text,
    asset_type   text    not null,
    url          text    not null,
    storage_path text,
    file_size    integer,
    stored       integer not null,
    created_at   integer not null,
    discarded_at integer
) strict, without rowid;

CREATE TABLE audit (
    id     integer not null primary key,
    ts     integer not null,
    action text    not null,
    actor  text    not null,
    job_id blob,
    reason text
, details text) strict;

CREATE TABLE clock (
    id       integer not null primary key,
    alive_at integer not null,
    stopped  integer not null
) strict;

CREATE TABLE "dead_letters" (
    job_id      blob    not null primary key,
    created_at  integer not null,
    reason_code text    not null,
    stage       text,
    dismissed   integer not null,
    letter      text    not null
) strict;

CREATE TABLE events (
    position   integer not null primary key,
    job_id     blob    not null,
    seq        integer,
    name       text    not null,
    "trigger"  text    not null,
    from_state text,
    to_state   text    not null,
    attempt    integer not null,
    ts         integer not null,
    actor      text    not null,
    cause      text,
    facts      text    not null
) strict;

CREATE TABLE flow_records (
    kind       text not null,
    name       text not null,
    key        text not null,
    body       text not null,
    expires_at integer,
    primary key (kind, name, key)
) without rowid;

CREATE TABLE intake_records (
    id             blob    not null primary key,
    refused        integer not null,
    user_id        text,
    type           text    not null,
    queue          text,
    correlation_id text,
    keep_until     integer not null,
    body           text    not null
) strict, without rowid;

CREATE TABLE "job_states" (
    id           blob    not null primary key,
    state        text    not null,
    phase        text    not null,
    outcome      text,
    seq          integer not null,
    attempt      integer not null,
    retry_count  integer not null,
    fence        integer not null,
    run_at       integer not null,
    timeout_at   integer,
    due_at       integer,
    clock_at     integer,
    updated_at   integer not null,
    claimed_at   integer,
    started_at   integer,
    completed_at integer,
    entered      text    not null,
    worker       text,
    lease        text,
    last_lease   text,
    error        text,
    result       text,
    checkpoint   text,
    progress     text,
    cancel       text,
    log_count    integer not null,
    lifecycle    text
, amended text) strict;

CREATE TABLE "jobs" (
    id                blob    not null primary key,
    type              text    not null,
    lifecycle         text    not null,
    lifecycle_version integer not null,
    queue             text    not null,
    user_id           text,
    priority          integer not null,
    max_attempts      integer not null,
    cost              integer not null,
    payload           text    not null,
    created_at        integer not null,
    correlation_id    text,
    traceparent       text,
    idempotency_key   text,
    retry_of          blob,
    compensates       blob
, flow text) strict;

CREATE TABLE journal (
    id       integer not null primary key,
    position integer not null
) strict;

CREATE TABLE "keys" (
    id          blob    not null primary key,
    fingerprint blob,
    targets     text    not null,
    created_at  integer not null,
    expires_at  integer not null
) strict;

CREATE TABLE ledger (
    id      integer not null primary key,
    ts      integer not null,
    user_id text    not null,
    kind    text    not null,
    amount  integer not null,
    job_id  blob,
    reason  text
) strict;

CREATE TABLE lifecycles (
    name    text    not null,
    version integer not null,
    source  text    not null,
    primary key (name, version)
) strict, without rowid;

CREATE TABLE "logs" (
    job_id blob    not null,
    n      integer not null,
    ts     integer not null,
    stream text    not null,
    level  text    not null,
    text   text    not null,
    primary key (job_id, n)
) strict;

CREATE TABLE migrations (number integer not null primary key, checksum text not null) strict
;

CREATE TABLE nodes (
    id         text    not null primary key,
    address    text    not null,
    version    text    not null,
    started_at integer not null,
    seen_at    integer not null,
    stopped    integer not null,
    tally      text    not null
) strict;

CREATE TABLE orders (
    kind   text    not null,
    id     text    not null,
    due_at integer,
    body   text    not null,
    primary key (kind, id)
) strict, without rowid;

CREATE TABLE paused_queues (
    queue text not null primary key
) strict, without rowid;

CREATE TABLE sessions (
    digest     text not null primary key,
    expires_at integer not null,
    body       text not null
) strict, without rowid;

CREATE TABLE statistics (
    resolution text    not null,
    series     text    not null,
    name       text    not null,
    start      integer not null,
    body       text    not null,
    expires_at integer not null,
    primary key (resolution, series, name, start)
) strict, without rowid;

CREATE TABLE telemetry (
    id         integer not null primary key,
    job_id     blob    not null,
    ts         integer not null,
    worker     text    not null,
    fence      integer not null,
    signal     text    not null,
    keep_until integer not null
) strict;

CREATE TABLE workers (
    name       text    not null primary key,
    credential text,
    seen_at    integer not null
, connection blob) strict, without rowid;

CREATE INDEX asset_garbage_due_at on asset_garbage (due_at, storage_path);

CREATE INDEX assets_job on assets (job_id, id);

CREATE INDEX audit_without_job on audit (id) where job_id is null;

CREATE INDEX dead_letters_open on dead_letters (created_at) where dismissed = 0;

CREATE UNIQUE INDEX events_job on events (job_id, seq);

CREATE INDEX flow_records_expires_at on flow_records (expires_at) where expires_at is not null;

CREATE INDEX intake_records_keep_until on intake_records (keep_until);

CREATE INDEX intake_records_refused on intake_records (id) where refused;

CREATE INDEX job_states_completed on job_states (completed_at, id) where completed_at is not null;

CREATE INDEX job_states_live on job_states (id) where completed_at is null;

CREATE INDEX job_states_retention on job_states (lifecycle, completed_at, id) where completed_at is not null;

CREATE INDEX jobs_correlation on jobs (correlation_id) where correlation_id is not null;

CREATE INDEX jobs_retry_of on jobs (retry_of) where retry_of is not null;

CREATE INDEX jobs_user on jobs (user_id, id) where user_id is not null;

CREATE INDEX keys_expires_at on keys (expires_at);

CREATE INDEX ledger_job on ledger (job_id) where job_id is not null;

CREATE INDEX ledger_user on ledger (user_id, id);

CREATE INDEX nodes_seen_at on nodes (seen_at desc, id);

CREATE INDEX orders_due on orders (kind, due_at, id) where due_at is not null;

CREATE INDEX sessions_expires_at on sessions (expires_at);

CREATE INDEX statistics_expires_at on statistics (expires_at);

CREATE INDEX telemetry_job on telemetry (job_id, id);

CREATE INDEX telemetry_keep_until on telemetry (keep_until);

CREATE INDEX workers_seen_at on workers (seen_at desc, name);
