-- purge_logs: forget jobs whose retention is over. Index: the primary key.
delete from logs where job_id = any($1)
