-- audit: audit lines after a row. Index: the primary key.
select id, ts, action, actor, job_id, reason, details from audit where id > ?1 order by id limit ?2
