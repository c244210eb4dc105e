-- pending_request: a request for a job that no node has taken in. Index: intake_job.
select job, name, queue, user_id, correlation_id, requested_at from intake where job = $1 and kind = 'enqueue' limit 1
