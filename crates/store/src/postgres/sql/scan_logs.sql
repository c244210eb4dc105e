-- scan_logs: how many lines the logs of some jobs have and the number of the last, for verify. Index: the primary
-- key.
select job_id, count(*), max(n) from logs where job_id = any($1) group by job_id
