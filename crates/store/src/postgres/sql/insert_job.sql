-- insert_job: the spec of a job, which never changes.
insert into jobs (id, type, lifecycle, lifecycle_version, queue, user_id, priority, max_attempts, cost, payload,
    created_at, correlation_id, traceparent, idempotency_key, retry_of, compensates, flow)
select * from unnest($1::uuid[], $2::text[], $3::text[], $4::integer[], $5::text[], $6::text[], $7::integer[],
    $8::integer[], $9::bigint[], $10::text[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::uuid[],
    $16::uuid[], $17::text[])
