-- nth_older: the job that is a number of jobs older than a position. Index: the primary key.
select id from jobs where id < $1 order by id desc limit 1 offset $2
