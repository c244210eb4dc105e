-- purge_state: forget where a job stood. Index: the primary key.
delete from job_states where id = ?1
