-- put_node: records of nodes, each written by its node. A stopped node is not updated: its last record may overtake
-- an earlier one. Index: the primary key.
insert into nodes (id, address, version, started_at, seen_at, stopped, tally)
select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::boolean[], $7::text[])
on conflict (id) do update set seen_at = excluded.seen_at, stopped = excluded.stopped, tally = excluded.tally
where not nodes.stopped
