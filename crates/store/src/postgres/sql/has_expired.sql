-- has_expired: whether rows can be pruned, or many changes of counts merged. Index: keys_expires_at, telemetry_keep_until,
-- workers_seen_at, sessions_expires_at, live_count_changes_new.
select exists (select 1 from keys where expires_at <= $1)
    or exists (select 1 from telemetry where keep_until <= $1)
    or exists (select 1 from workers where seen_at <= $2)
    or exists (select 1 from sessions where expires_at <= $1)
    or exists (select 1 from live_count_changes where not merged order by id offset 5000 limit 1)
