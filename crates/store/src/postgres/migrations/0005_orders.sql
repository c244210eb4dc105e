-- Standing orders: schedules and webhooks.

create table orders (
    kind   text collate "C" not null,
    id     text collate "C" not null,
    due_at bigint,
    body   text not null,
    primary key (kind, id)
);

create index orders_due on orders (kind, due_at, id) where due_at is not null;
