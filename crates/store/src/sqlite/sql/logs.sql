-- logs: log lines of a job after a line number. Index: the primary key.
select n, ts, stream, level, text from logs where job_id = ?1 and n > ?2 order by n limit ?3
