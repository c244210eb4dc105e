-- purge_state: forget jobs whose retention is over. Index: the primary key.
delete from job_states where id = any($1)
