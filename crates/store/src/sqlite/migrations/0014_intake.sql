-- What became of requests in SQL that created no job: refused, or answered with another job. The body is JSON.

create table intake_records (
    id             blob    not null primary key,
    refused        integer not null,
    user_id        text,
    type           text    not null,
    queue          text,
    correlation_id text,
    keep_until     integer not null,
    body           text    not null
) strict, without rowid;

create index intake_records_refused on intake_records (id) where refused;
create index intake_records_keep_until on intake_records (keep_until);
