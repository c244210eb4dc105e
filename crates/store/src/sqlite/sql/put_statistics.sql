-- put_statistics: inserts or replaces a period. Index: the primary key.
insert into statistics (resolution, series, name, start, body, expires_at) values (?1, ?2, ?3, ?4, ?5, ?6)
on conflict (resolution, series, name, start) do update set body = excluded.body
