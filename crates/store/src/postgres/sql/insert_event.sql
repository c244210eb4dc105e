-- insert_event: events in the order of the batch. Requires `lock_journal`.
insert into events (position, job_id, seq, name, "trigger", from_state, to_state, attempt, ts, actor, cause, facts)
select nextval('positions'), u.*
from unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::bigint[],
    $9::text[], $10::text[], $11::text[]) as u
