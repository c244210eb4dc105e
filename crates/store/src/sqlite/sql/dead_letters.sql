-- dead_letters: the head of a listing of dead letters with their jobs; list.rs adds filters and page. Dead letters
-- are read first, because there are fewer of them than jobs. Index: the primary keys.
select d.letter, j.type from dead_letters d cross join jobs j on j.id = d.job_id cross join job_states s on s.id = d.job_id
where true
