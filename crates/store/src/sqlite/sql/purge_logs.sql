-- purge_logs: deletes the log lines of purged jobs. Index: the primary key.
delete from logs where job_id = ?1
