-- heartbeat: a node lives. Skips a row that another is just writing, as that says the same. Index: the primary key.
update clock set alive_at = greatest(alive_at, $1)
where id = (select id from clock where id = 1 for update skip locked)
