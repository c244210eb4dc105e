-- purge_job: forget jobs whose retention is over. Index: the primary key.
delete from jobs where id = any($1)
