-- purge_job: forget what was asked for. Index: the primary key.
delete from jobs where id = ?1
