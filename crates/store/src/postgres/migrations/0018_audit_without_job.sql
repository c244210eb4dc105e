-- Audit lines that are not about a job: pauses and changes of settings are found however many lines a bulk action writes about
-- jobs.

create index audit_without_job on audit (id) where job_id is null;
