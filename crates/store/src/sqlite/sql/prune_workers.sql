-- prune_workers: deletes workers not seen since, a bounded number at once. Index: workers_seen_at.
delete from workers where name in (select name from workers where seen_at <= ?1 limit 1000)
