-- now_wall: the database's clock, in milliseconds since 1970.
select (extract(epoch from clock_timestamp()) * 1000)::bigint
