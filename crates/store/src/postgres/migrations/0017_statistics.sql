-- Statistics over time: what happened in each minute, five minutes, hour and day, by series. A series is all jobs, those of a
-- type, or a queue. The body is JSON.

create table statistics (
    resolution text collate "C" not null,
    series     text collate "C" not null,
    name       text collate "C" not null,
    start      bigint not null,
    body       text   not null,
    expires_at bigint not null,
    primary key (resolution, series, name, start)
) with (fillfactor = 80);

create index statistics_expires_at on statistics (expires_at);
