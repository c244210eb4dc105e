-- heartbeat: records that a node is running. Skips a locked row: another node is writing the same. Index: the primary
-- key.
update clock set alive_at = greatest(alive_at, $1)
where id = (select id from clock where id = 1 for update skip locked)
