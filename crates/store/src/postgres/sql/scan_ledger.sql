-- scan_ledger: the movements of some jobs, for verify. Index: ledger_job.
select id, ts, user_id, kind, amount, job_id, reason from ledger where job_id = any($1) order by id
