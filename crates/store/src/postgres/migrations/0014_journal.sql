-- The journal first. A commit appends events, and changes between events; unfinished jobs are in the memory of each node.
-- `job_states` has the finished jobs, and follows for the others.

-- What changed of an unfinished job without an event: the renewal of a lease, progress, a cancel request, log lines. Positions are
-- those of the journal. Without a `seq`: the job was deleted. Rows are deleted some minutes after `job_states` has them.
create table job_changes (
    position   bigint  not null primary key,
    job_id     uuid    not null,
    seq        integer,
    timeout_at bigint,
    due_at     bigint,
    updated_at bigint,
    log_count  bigint,
    lease      text,
    progress   text,
    cancel     text
);

-- One row. `job_states` has every unfinished job as of `saved` or later. Changes up to `pruned` are deleted; those up to `prunable`,
-- which was `saved` at `prunable_since`, are next.
create table journal (
    id             integer not null primary key,
    saved          bigint  not null,
    prunable       bigint  not null,
    prunable_since bigint  not null,
    pruned         bigint  not null
) with (fillfactor = 10);

insert into journal (id, saved, prunable, prunable_since, pruned)
select 1, last.position, last.position, 0, last.position
from (select coalesce(max(position), 0) as position from events) last;

drop table live_count_changes;
drop index job_states_ready;
drop index job_states_clock;
drop index job_states_busy;
alter table job_states drop column ready, drop column clock_slot;
create index job_states_live on job_states (id) where completed_at is null;
