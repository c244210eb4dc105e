-- The requests that applications have committed and no node has taken in. A row is removed in the commit that judges it.
create table if not exists "tenure".intake (
    -- The transaction of the request. A node reads what was not visible to its last look, whatever the order of commits.
    tx              bigint not null default pg_current_xact_id()::text::bigint,
    -- The order of the calls of a transaction.
    number          bigint not null generated always as identity,
    kind            text   not null,
    -- The new job, or the one to cancel or to signal.
    job             uuid   not null,
    -- Identifies the request.
    receipt         uuid   not null,
    requested_by    text   not null default session_user,
    -- Milliseconds.
    requested_at    bigint not null default (extract(epoch from clock_timestamp()) * 1000)::bigint,
    -- The type of a job, the mode of a cancel, or the name of a signal.
    name            text   not null,
    -- The payload of a job, the reason of a cancel, or the note of a signal.
    body            text,
    idempotency_key text,
    queue           text,
    priority        integer,
    run_at          bigint,
    user_id         text,
    correlation_id  text,
    primary key (tx, number)
);
create index if not exists intake_job on "tenure".intake (job);
