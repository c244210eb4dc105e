-- purge_state: deletes the states of purged jobs. Index: the primary key.
delete from job_states where id = any($1)
