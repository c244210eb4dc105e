-- Numbers of unfinished jobs, as changes: every commit appends its own, and old ones are merged. A number is the sum of its
-- changes. So it is read without reading jobs, and no two commits update the same row.

create table live_count_changes (
    id        bigint  generated always as identity primary key,
    lifecycle text    collate "C" not null,
    type      text    collate "C" not null,
    queue     text    collate "C" not null,
    state     text    collate "C" not null,
    change    bigint  not null,
    merged    boolean not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

create index live_count_changes_new on live_count_changes (id) where not merged;

insert into live_count_changes (lifecycle, type, queue, state, change, merged)
select lifecycle, type, queue, state, count(*), true from job_states where completed_at is null
group by lifecycle, type, queue, state;
