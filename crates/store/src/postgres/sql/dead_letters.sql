-- dead_letters: the head of a listing of dead letters with their jobs; list.rs adds the filters and the page. The dead
-- letters come first, since there are fewer of them: the offset of 0 keeps the planner to that. Index: the primary keys.
select d.letter
from dead_letters d
cross join lateral (select * from jobs where jobs.id = d.job_id offset 0) j
cross join lateral (select * from job_states where job_states.id = d.job_id offset 0) s
where true
