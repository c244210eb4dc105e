-- load_lifecycles: lifecycle files of a batch. Index: the primary key.
select l.name, l.version, l.source
from unnest($1::text[], $2::integer[]) as u (name, version)
join lifecycles l on l.name = u.name and l.version = u.version
