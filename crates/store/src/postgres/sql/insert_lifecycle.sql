-- insert_lifecycle: registered lifecycle files; a known one is not changed. Index: the primary key.
insert into lifecycles (name, version, source)
select * from unnest($1::text[], $2::integer[], $3::text[])
on conflict (name, version) do update set source = excluded.source
