-- heartbeat: records that a node is running at $1, when the database's clock showed $2. Skips a locked row: another node is
-- writing the same. Index: the primary key.
update clock set alive_at = greatest(alive_at, $1),
    ahead = case when $1 >= alive_at then greatest($1 - $2, 0) else ahead end
where id = (select id from clock where id = 1 for update skip locked)
