-- load_statistics: periods of a batch. Index: the primary key.
select s.resolution, s.series, s.name, s.start, s.body
from unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) as u (resolution, series, name, start)
join statistics s on s.resolution = u.resolution and s.series = u.series and s.name = u.name and s.start = u.start
