-- reach: the job that so many jobs before a place is. Index: the primary key.
select id from job_states where id < $1 order by id desc limit 1 offset $2
