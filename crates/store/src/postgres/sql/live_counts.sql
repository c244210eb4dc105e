-- live_counts: number of unfinished jobs by lifecycle, type, queue and state. Reads the whole table, which is kept small.
select lifecycle, type, queue, state, sum(change)::bigint
from live_count_changes
group by lifecycle, type, queue, state having sum(change) > 0
order by lifecycle, type, queue, state
