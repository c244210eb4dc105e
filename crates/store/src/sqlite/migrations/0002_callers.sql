-- Keys of callers, workers that were heard, and how dead letters are counted.

-- Never forgotten, only revoked.
create table api_keys (
    id         text    not null primary key,
    role       text    not null,
    user_id    text,
    digest     blob    not null,
    created_at integer not null,
    created_by text    not null,
    revoked_at integer
) strict, without rowid;

create table workers (
    name       text    not null primary key,
    credential text,
    seen_at    integer not null
) strict, without rowid;

create index workers_seen_at on workers (seen_at desc, name);

-- A dead letter is written when its job ends, so the job's row has its time. A column without a default needs a new
-- table here.
create table dead_letters_with_time (
    job_id      blob    not null primary key,
    created_at  integer not null,
    reason_code text    not null,
    stage       text,
    dismissed   integer not null,
    letter      text    not null
) strict, without rowid;

insert into dead_letters_with_time (job_id, created_at, reason_code, stage, dismissed, letter)
select d.job_id, coalesce((select s.completed_at from job_states s where s.id = d.job_id), 0), d.reason_code, d.stage,
    d.dismissed, d.letter
from dead_letters d;

drop table dead_letters;
alter table dead_letters_with_time rename to dead_letters;

create index dead_letters_open on dead_letters (created_at) where dismissed = 0;
