-- Standing orders: schedules and webhooks.

create table orders (
    kind   text    not null,
    id     text    not null,
    due_at integer,
    body   text    not null,
    primary key (kind, id)
) strict, without rowid;

create index orders_due on orders (kind, due_at, id) where due_at is not null;
