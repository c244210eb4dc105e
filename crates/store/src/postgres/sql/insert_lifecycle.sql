-- insert_lifecycle: new lifecycle files. The journal's lock is held, so none is inserted concurrently. Index: the primary key.
insert into lifecycles (name, version, source)
select * from unnest($1::text[], $2::integer[], $3::text[])
