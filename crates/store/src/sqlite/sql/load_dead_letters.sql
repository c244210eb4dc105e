-- load_dead_letters: the dead letter of a job. Index: the primary key.
select letter from dead_letters where job_id = ?1
