-- scan_logs: number of log lines of some jobs and the last line number of each, for verify. Index: the primary key.
select job_id, count(*), max(n) from logs where job_id = any($1) group by job_id
