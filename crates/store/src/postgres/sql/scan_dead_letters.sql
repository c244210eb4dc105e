-- scan_dead_letters: dead letters of a page of jobs. Index: the primary key.
select job_id, letter from dead_letters where job_id = any($1)
