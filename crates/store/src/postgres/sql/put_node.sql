-- put_node: nodes' words about themselves; each writes its own, and one that has stopped says no
-- more: its last word may overtake the one before. Index: the primary key.
insert into nodes (id, address, version, started_at, seen_at, stopped, tally)
select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::boolean[], $7::text[])
on conflict (id) do update set seen_at = excluded.seen_at, stopped = excluded.stopped, tally = excluded.tally
where not nodes.stopped
