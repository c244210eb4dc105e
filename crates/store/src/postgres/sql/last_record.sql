-- last_record: the last record of the journal. Index: the primary keys.
(select position, job_id from events order by position desc limit 1)
union all
(select position, job_id from job_changes order by position desc limit 1)
order by position desc limit 1
