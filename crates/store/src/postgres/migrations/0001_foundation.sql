-- The foundation: what was asked for, where each job stands, and the journal of how it got there.
-- The tables, columns and values are SQLite's. No triggers and no enumerations: every value is core's. Optional
-- look-ups are partial indexes, so that a job pays only for what it uses. Names compare by their bytes, as in Rust.

-- What was asked for. Never updated.
create table jobs (
    id                uuid    not null primary key,
    type              text    collate "C" not null,
    lifecycle         text    collate "C" not null,
    lifecycle_version integer not null,
    queue             text    collate "C" not null,
    user_id           text    collate "C",
    priority          integer not null,
    max_attempts      integer not null,
    cost              bigint  not null,
    payload           text    not null,
    created_at        bigint  not null,
    correlation_id    text    collate "C",
    traceparent       text    collate "C",
    idempotency_key   text    collate "C",
    retry_of          uuid,
    compensates       uuid
);

create index jobs_user on jobs (user_id, id) where user_id is not null;
create index jobs_correlation on jobs (correlation_id, id) where correlation_id is not null;
create index jobs_retry_of on jobs (retry_of) where retry_of is not null;

-- Where each job stands: narrow, so that a transition rewrites little. Copies of what claims and retention search by
-- spare them a join. An update that touches no indexed column is cheap (a heap-only one), so what changes between
-- claims stays out of the indexes: `ready` changes when a job becomes claimable or is claimed, and `clock_slot` is
-- `clock_at` in coarse steps, so that a heartbeat or a start mostly leaves it as it was.
create table job_states (
    id           uuid    not null primary key,
    seq          integer not null,
    attempt      integer not null,
    retry_count  integer not null,
    priority     integer not null,
    fence        bigint  not null,
    run_at       bigint  not null,
    timeout_at   bigint,
    due_at       bigint,
    clock_at     bigint,
    clock_slot   bigint,
    updated_at   bigint  not null,
    claimed_at   bigint,
    started_at   bigint,
    completed_at bigint,
    log_count    bigint  not null,
    ready        boolean not null,
    state        text    collate "C" not null,
    phase        text    collate "C" not null,
    outcome      text    collate "C",
    lifecycle    text    collate "C" not null,
    type         text    collate "C" not null,
    queue        text    collate "C" not null,
    entered      text    not null,
    worker       text    collate "C",
    lease        text,
    last_lease   text,
    error        text,
    result       text,
    checkpoint   text,
    progress     text,
    cancel       text
) with (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.05
);

-- Claims: each queue, type and priority is a run of its own, so that neither another queue's backlog nor jobs
-- that are not due yet are ever walked over.
create index job_states_ready on job_states (queue, type, priority desc, run_at, id) where ready;
-- The sweep.
create index job_states_clock on job_states (clock_slot) where clock_slot is not null;
-- Retention reads the finished ones by age.
create index job_states_completed on job_states (lifecycle, completed_at, id) where completed_at is not null;

-- The journal: one row for each transition, in commit order.
create table events (
    position   bigint  not null primary key,
    job_id     uuid    not null,
    ts         bigint  not null,
    seq        integer,
    attempt    integer not null,
    name       text    collate "C" not null,
    "trigger"  text    collate "C" not null,
    from_state text    collate "C",
    to_state   text    collate "C" not null,
    actor      text    not null,
    cause      text,
    facts      text    not null
);

create unique index events_job on events (job_id, seq);

-- Positions in the journal. They are drawn under a lock that is held until the commit, so their order is the order
-- of commits. A sequence and not a row, because a row that every commit updates leaves a dead version each time,
-- and a backup that runs for an hour keeps all of them.
create sequence positions as bigint;

create table telemetry (
    id         bigint not null generated always as identity primary key,
    job_id     uuid   not null,
    ts         bigint not null,
    worker     text   collate "C" not null,
    fence      bigint not null,
    signal     text   not null,
    keep_until bigint not null
);

create index telemetry_job on telemetry (job_id, id);
create index telemetry_keep_until on telemetry (keep_until);

create table logs (
    job_id uuid   not null,
    n      bigint not null,
    ts     bigint not null,
    stream text   collate "C" not null,
    level  text   collate "C" not null,
    text   text   not null,
    primary key (job_id, n)
);

create table dead_letters (
    job_id      uuid    not null primary key,
    reason_code text    collate "C" not null,
    stage       text    collate "C",
    dismissed   boolean not null,
    letter      text    not null
);

create table accounts (
    user_id  text   collate "C" not null primary key,
    granted  bigint not null,
    reserved bigint not null,
    spent    bigint not null
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create table ledger (
    id      bigint not null generated always as identity primary key,
    ts      bigint not null,
    user_id text   collate "C" not null,
    kind    text   collate "C" not null,
    amount  bigint not null,
    job_id  uuid,
    reason  text
);

create index ledger_user on ledger (user_id, id);
create index ledger_job on ledger (job_id) where job_id is not null;

create table audit (
    id     bigint not null generated always as identity primary key,
    ts     bigint not null,
    action text   collate "C" not null,
    actor  text   not null,
    job_id uuid,
    reason text
);

create table paused_queues (
    queue text collate "C" not null primary key
);

-- Idempotency keys and what they led to.
create table keys (
    id          uuid   not null primary key,
    fingerprint bytea,
    targets     text   not null,
    created_at  bigint not null,
    expires_at  bigint not null
);

create index keys_expires_at on keys (expires_at);

create table lifecycles (
    name    text    collate "C" not null,
    version integer not null,
    source  text    not null,
    primary key (name, version)
);

-- One row: when a node was last known to live, and how long none did.
create table clock (
    id       integer not null primary key,
    alive_at bigint  not null,
    stopped  bigint  not null
) with (fillfactor = 10);
