-- ledger_of_job: ledger lines of a job, for verify. Index: ledger_job.
select id, ts, user_id, kind, amount, job_id, reason from ledger where job_id = ?1 order by id
