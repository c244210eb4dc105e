-- purge_dead_letter: forget a dead letter. Index: the primary key.
delete from dead_letters where job_id = ?1
