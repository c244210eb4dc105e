-- log_count: how many lines a job's log has and the number of the last, for verify. Index: the primary key.
select count(*), coalesce(max(n), 0) from logs where job_id = ?1
