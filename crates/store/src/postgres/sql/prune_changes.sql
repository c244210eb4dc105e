-- prune_changes: deletes changes that `job_states` has had for ten minutes, at $1. Index: the primary keys.
with old as (
    update journal set pruned = prunable, prunable = saved, prunable_since = $1
    where id = 1 and prunable_since <= $1 - 600000 returning pruned
)
delete from job_changes where position <= (select pruned from old)
