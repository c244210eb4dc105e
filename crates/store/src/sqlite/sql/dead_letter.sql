-- dead_letter: a job's dead letter. Index: the primary key.
select letter from dead_letters where job_id = ?1
