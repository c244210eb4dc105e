-- insert_live_counts: how a commit changes the numbers of unfinished jobs.
insert into live_count_changes (lifecycle, type, queue, state, change, merged)
select u.lifecycle, u.type, u.queue, u.state, u.change, false
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[]) as u (lifecycle, type, queue, state, change)
