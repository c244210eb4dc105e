-- logs: a job's lines after the n-th. Index: the primary key.
select n, ts, stream, level, text from logs where job_id = $1 and n > $2 order by n limit $3
