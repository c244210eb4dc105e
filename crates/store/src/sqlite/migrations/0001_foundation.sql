-- The foundation: what was asked for, where each job stands, and the journal of how it got there.
-- No defaults, no triggers, no enumerations: every value is core's. Optional look-ups are partial indexes, so that a
-- job pays only for what it uses. Which jobs are ready or due is kept in memory, not in an index.

-- What was asked for. Never updated.
create table jobs (
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
) strict, without rowid;

create index jobs_user on jobs (user_id, id) where user_id is not null;
create index jobs_correlation on jobs (correlation_id) where correlation_id is not null;
create index jobs_retry_of on jobs (retry_of) where retry_of is not null;

-- Where each job stands.
create table job_states (
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
    log_count    integer not null
) strict, without rowid;

-- Opening reads the live jobs and only those.
create index job_states_live on job_states (id) where completed_at is null;
-- Retention reads the finished ones by age.
create index job_states_completed on job_states (completed_at, id) where completed_at is not null;

-- The journal: one row for each transition, in commit order.
create table events (
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

create unique index events_job on events (job_id, seq);

-- One row: the last position that was given out. Positions are not given out again when events are forgotten.
create table journal (
    id       integer not null primary key,
    position integer not null
) strict;

insert into journal (id, position) values (1, 0);

create table telemetry (
    id         integer not null primary key,
    job_id     blob    not null,
    ts         integer not null,
    worker     text    not null,
    fence      integer not null,
    signal     text    not null,
    keep_until integer not null
) strict;

create index telemetry_job on telemetry (job_id, id);
create index telemetry_keep_until on telemetry (keep_until);

create table logs (
    job_id blob    not null,
    n      integer not null,
    ts     integer not null,
    stream text    not null,
    level  text    not null,
    text   text    not null,
    primary key (job_id, n)
) strict, without rowid;

create table dead_letters (
    job_id      blob    not null primary key,
    reason_code text    not null,
    stage       text,
    dismissed   integer not null,
    letter      text    not null
) strict, without rowid;

create table accounts (
    user_id  text    not null primary key,
    granted  integer not null,
    reserved integer not null,
    spent    integer not null
) strict, without rowid;

create table ledger (
    id      integer not null primary key,
    ts      integer not null,
    user_id text    not null,
    kind    text    not null,
    amount  integer not null,
    job_id  blob,
    reason  text
) strict;

create index ledger_user on ledger (user_id, id);
create index ledger_job on ledger (job_id) where job_id is not null;

create table audit (
    id     integer not null primary key,
    ts     integer not null,
    action text    not null,
    actor  text    not null,
    job_id blob,
    reason text
) strict;

create table paused_queues (
    queue text not null primary key
) strict, without rowid;

-- Idempotency keys and what they led to.
create table keys (
    id          blob    not null primary key,
    fingerprint blob,
    targets     text    not null,
    created_at  integer not null,
    expires_at  integer not null
) strict, without rowid;

create index keys_expires_at on keys (expires_at);

create table lifecycles (
    name    text    not null,
    version integer not null,
    source  text    not null,
    primary key (name, version)
) strict, without rowid;

-- One row: when a node was last known to live, and how long none did.
create table clock (
    id       integer not null primary key,
    alive_at integer not null,
    stopped  integer not null
) strict;
