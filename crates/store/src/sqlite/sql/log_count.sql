-- log_count: number of log lines of a job and the last line number, for verify. Index: the primary key.
select count(*), coalesce(max(n), 0) from logs where job_id = ?1
