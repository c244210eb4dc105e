-- remove_session: deletes sessions. Index: the primary key.
delete from sessions where digest = any($1::text[])
