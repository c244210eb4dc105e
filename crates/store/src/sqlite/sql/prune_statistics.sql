-- prune_statistics: deletes expired periods, a bounded number at once. Index: statistics_expires_at.
delete from statistics where (resolution, series, name, start) in (
    select resolution, series, name, start from statistics where expires_at <= ?1 limit 1000
)
