-- insert_job: the spec of a job, which never changes.
insert into jobs (id, type, lifecycle, lifecycle_version, queue, user_id, priority, max_attempts, cost, payload,
    created_at, correlation_id, traceparent, idempotency_key, retry_of, compensates, flow)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
    ?17)
