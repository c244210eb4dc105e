-- insert_commit: records a batch if it commits, and deletes the records in $2, whose outcomes are known. Index: the
-- primary key.
with answered as (delete from commits where id = any($2))
insert into commits (id, done) values ($1, true)
