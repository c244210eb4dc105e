-- insert_commit: a batch, if it commits; the answers of those in $2 have come. Index: the primary key.
with answered as (delete from commits where id = any($2))
insert into commits (id, done) values ($1, true)
