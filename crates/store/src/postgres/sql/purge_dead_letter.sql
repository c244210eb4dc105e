-- purge_dead_letter: forget jobs whose retention is over. Index: the primary key.
delete from dead_letters where job_id = any($1)
