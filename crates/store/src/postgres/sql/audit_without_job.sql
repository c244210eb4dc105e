-- audit_without_job: audit lines that are not about a job, before a row, newest first. Index: audit_without_job.
select id, ts, action, actor, job_id, reason, details from audit
where job_id is null and id < $1 order by id desc limit $2
