-- workers: last seen first. Index: workers_seen_at.
select name, credential, seen_at, connection from workers indexed by workers_seen_at order by seen_at desc, name limit ?1
