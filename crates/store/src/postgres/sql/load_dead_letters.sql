-- load_dead_letters: dead letters of a batch; their jobs are locked. Index: the primary key.
select letter from dead_letters where job_id = any($1)
