-- prune_workers: forget workers that were not heard since, a bounded number at once. Index: workers_seen_at.
delete from workers where name in (select name from workers where seen_at <= ?1 limit 10000)
