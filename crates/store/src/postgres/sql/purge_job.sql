-- purge_job: deletes the specs of purged jobs. Index: the primary key.
delete from jobs where id = any($1)
