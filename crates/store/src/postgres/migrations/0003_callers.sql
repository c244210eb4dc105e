-- Keys of callers, workers that were heard, and how dead letters and live jobs are counted.

-- Never forgotten, only revoked.
create table api_keys (
    id         text   collate "C" not null primary key,
    role       text   collate "C" not null,
    user_id    text   collate "C",
    digest     bytea  not null,
    created_at bigint not null,
    created_by text   not null,
    revoked_at bigint
);

create table workers (
    name       text   collate "C" not null primary key,
    credential text   collate "C",
    seen_at    bigint not null
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create index workers_seen_at on workers (seen_at desc, name);

-- A dead letter is written when its job ends, so the job's row has its time.
alter table dead_letters add column created_at bigint;

update dead_letters d
set created_at = coalesce((select s.completed_at from job_states s where s.id = d.job_id), 0);

alter table dead_letters alter column created_at set not null;

create index dead_letters_open on dead_letters (created_at) where not dismissed;

-- Live jobs are those that are ready, which have an index already, and these: held by a worker, or waiting. Both
-- columns of the condition are in other indexes' conditions, so that no update becomes dearer for it but a claim.
create index job_states_busy on job_states (id) where not ready and completed_at is null;
