-- purge_dead_letter: deletes the dead letters of purged jobs. Index: the primary key.
delete from dead_letters where job_id = ?1
