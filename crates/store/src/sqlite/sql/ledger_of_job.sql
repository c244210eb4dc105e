-- ledger_of_job: the movements of one job, for verify. Index: ledger_job.
select id, ts, user_id, kind, amount, job_id, reason from ledger where job_id = ?1 order by id
