-- worker: one worker. Index: the primary key.
select name, credential, seen_at, connection from workers where name = $1
