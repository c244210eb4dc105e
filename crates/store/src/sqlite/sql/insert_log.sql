-- insert_log: a log line.
insert into logs (job_id, n, ts, stream, level, text) values (?1, ?2, ?3, ?4, ?5, ?6)
