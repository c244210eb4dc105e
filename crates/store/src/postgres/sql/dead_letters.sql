-- dead_letters: the head of a listing of dead letters with their jobs; list.rs adds filters and page. Dead letters
-- are read first, because there are fewer of them than jobs; `offset 0` keeps the planner to this order. Index: the
-- primary keys.
select d.letter, j.type
from dead_letters d
cross join lateral (select * from jobs where jobs.id = d.job_id offset 0) j
cross join lateral (select * from job_states where job_states.id = d.job_id offset 0) s
where true
