-- load_jobs: specs of the jobs of a batch. Index: the primary key.
select j.id, j.type, j.lifecycle, j.lifecycle_version, j.queue, j.user_id, j.priority, j.max_attempts, j.cost,
    j.payload,
    j.created_at, j.correlation_id, j.traceparent, j.idempotency_key, j.retry_of, j.compensates, j.flow
from jobs j where j.id = any($1)
