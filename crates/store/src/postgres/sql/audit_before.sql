-- audit_before: audit lines before a row, newest first. Index: the primary key.
select id, ts, action, actor, job_id, reason, details from audit where id < $1 order by id desc limit $2
