-- What became of requests in SQL that created no job: refused, or answered with another job. The body is JSON.

create table intake_records (
    id             uuid    not null primary key,
    refused        boolean not null,
    user_id        text collate "C",
    type           text collate "C" not null,
    queue          text collate "C",
    correlation_id text collate "C",
    keep_until     bigint  not null,
    body           text    not null
);

create index intake_records_refused on intake_records (id) where refused;
create index intake_records_keep_until on intake_records (keep_until);
