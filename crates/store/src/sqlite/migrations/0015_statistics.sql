-- Statistics over time: what happened in each minute, five minutes, hour and day, by series. A series is all jobs, those of a
-- type, or a queue. The body is JSON.

create table statistics (
    resolution text    not null,
    series     text    not null,
    name       text    not null,
    start      integer not null,
    body       text    not null,
    expires_at integer not null,
    primary key (resolution, series, name, start)
) strict, without rowid;

create index statistics_expires_at on statistics (expires_at);
