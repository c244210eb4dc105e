-- Nodes, as they tell of themselves.

create table nodes (
    id         text    not null primary key,
    address    text    not null,
    version    text    not null,
    started_at integer not null,
    seen_at    integer not null,
    stopped    integer not null,
    tally      text    not null
) strict;

create index nodes_seen_at on nodes (seen_at desc, id);
