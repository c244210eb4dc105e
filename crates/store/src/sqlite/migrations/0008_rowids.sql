-- Rows that may be large are rowid tables. In a table without rowid the rows are in the tree of the primary key, and
-- SQLite reads a row of more than about a thousand bytes completely each time it compares its key: claims of many jobs
-- made keys expensive to find, and payloads jobs.

create table keys_by_rowid (
    id          blob    not null primary key,
    fingerprint blob,
    targets     text    not null,
    created_at  integer not null,
    expires_at  integer not null
) strict;

insert into keys_by_rowid select * from keys order by created_at;
drop table keys;
alter table keys_by_rowid rename to keys;

create index keys_expires_at on keys (expires_at);

create table jobs_by_rowid (
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
) strict;

insert into jobs_by_rowid select * from jobs order by id;
drop table jobs;
alter table jobs_by_rowid rename to jobs;

create index jobs_correlation on jobs (correlation_id) where correlation_id is not null;
create index jobs_retry_of on jobs (retry_of) where retry_of is not null;
create index jobs_user on jobs (user_id, id) where user_id is not null;

create table job_states_by_rowid (
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
) strict;

insert into job_states_by_rowid select * from job_states order by id;
drop table job_states;
alter table job_states_by_rowid rename to job_states;

create index job_states_completed on job_states (completed_at, id) where completed_at is not null;
create index job_states_live on job_states (id) where completed_at is null;
create index job_states_retention on job_states (lifecycle, completed_at, id) where completed_at is not null;

create table logs_by_rowid (
    job_id blob    not null,
    n      integer not null,
    ts     integer not null,
    stream text    not null,
    level  text    not null,
    text   text    not null,
    primary key (job_id, n)
) strict;

insert into logs_by_rowid select * from logs order by job_id, n;
drop table logs;
alter table logs_by_rowid rename to logs;

create table dead_letters_by_rowid (
    job_id      blob    not null primary key,
    created_at  integer not null,
    reason_code text    not null,
    stage       text,
    dismissed   integer not null,
    letter      text    not null
) strict;

insert into dead_letters_by_rowid select * from dead_letters order by job_id;
drop table dead_letters;
alter table dead_letters_by_rowid rename to dead_letters;

create index dead_letters_open on dead_letters (created_at) where dismissed = 0;
