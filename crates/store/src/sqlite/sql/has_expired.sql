-- has_expired: whether a row can be pruned. Index: keys_expires_at, telemetry_keep_until, workers_seen_at,
-- sessions_expires_at, flow_records_expires_at, intake_records_keep_until, statistics_expires_at.
select exists (select 1 from keys where expires_at <= ?1)
    or exists (select 1 from telemetry where keep_until <= ?1)
    or exists (select 1 from workers where seen_at <= ?2)
    or exists (select 1 from sessions where expires_at <= ?1)
    or exists (select 1 from flow_records where expires_at <= ?1)
    or exists (select 1 from intake_records where keep_until <= ?1)
    or exists (select 1 from statistics where expires_at <= ?1)
