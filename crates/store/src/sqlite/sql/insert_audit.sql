-- insert_audit: an audit line.
insert into audit (ts, action, actor, job_id, reason, details) values (?1, ?2, ?3, ?4, ?5, ?6)
