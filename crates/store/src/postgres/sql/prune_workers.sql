-- prune_workers: deletes workers not seen since, a bounded number at once. Index: workers_seen_at.
delete from workers where name = any(array(
    select name from workers where seen_at <= ($1::bigint[])[1] order by seen_at limit 1000
))
