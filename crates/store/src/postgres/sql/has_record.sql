-- has_record: whether the journal has a record of a job at a position. Index: the primary keys.
select exists (select from events where position = $1 and job_id = $2)
    or exists (select from job_changes where position = $1 and job_id = $2)
