-- Records of flow control: the declarations in force, overrides of limits, pauses, halted sequences, and the tokens that buckets
-- lack. A record that expires has no effect after that.

create table flow_records (
    kind       text not null,
    name       text not null,
    key        text not null,
    body       text not null,
    expires_at integer,
    primary key (kind, name, key)
) without rowid;

create index flow_records_expires_at on flow_records (expires_at) where expires_at is not null;
