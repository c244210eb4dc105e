-- Nodes, as they tell of themselves.

create table nodes (
    id         text collate "C" primary key,
    address    text not null,
    version    text not null,
    started_at bigint not null,
    seen_at    bigint not null,
    stopped    boolean not null,
    tally      text not null
);

create index nodes_seen_at on nodes (seen_at desc, id);
