-- load_dead_letters: dead letters of a batch. Index: the primary key.
select letter from dead_letters where job_id = any($1)
