-- insert_job_change: what changed of unfinished jobs without an event, and deleted jobs. Requires `lock_journal`.
insert into job_changes (position, job_id, seq, timeout_at, due_at, updated_at, log_count, lease, progress, cancel)
select nextval('positions'), u.*
from unnest($1::uuid[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[],
    $9::text[]) as u
