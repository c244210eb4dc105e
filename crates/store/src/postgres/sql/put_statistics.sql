-- put_statistics: inserts or replaces periods. Index: the primary key.
insert into statistics (resolution, series, name, start, body, expires_at)
select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[])
on conflict (resolution, series, name, start) do update set body = excluded.body
