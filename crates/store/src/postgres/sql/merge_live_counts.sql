-- merge_live_counts: replaces changes by their sums, the oldest first; those that another node merges are skipped. Index: the
-- primary key.
with taken as (
    delete from live_count_changes where id = any(array(
        select id from live_count_changes order by id limit 20000 for update skip locked
    ))
    returning lifecycle, type, queue, state, change
)
insert into live_count_changes (lifecycle, type, queue, state, change, merged)
select lifecycle, type, queue, state, sum(change), true from taken
group by lifecycle, type, queue, state having sum(change) <> 0
