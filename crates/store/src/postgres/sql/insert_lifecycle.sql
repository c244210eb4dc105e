-- insert_lifecycle: new lifecycle files. One inserted concurrently is a conflict, and the batch is decided again: then the same
-- text is known, and another text is refused. Index: the primary key.
insert into lifecycles (name, version, source)
select * from unnest($1::text[], $2::integer[], $3::text[])
