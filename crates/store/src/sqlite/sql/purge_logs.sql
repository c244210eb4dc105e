-- purge_logs: forget a log. Index: the primary key.
delete from logs where job_id = ?1
