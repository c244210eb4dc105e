-- Records of flow control: the declarations in force, overrides of limits, pauses, halted sequences, and the tokens that buckets
-- lack. A record that expires has no effect after that.

create table flow_records (
    kind       text not null,
    name       text not null,
    key        text not null,
    body       text not null,
    expires_at bigint,
    primary key (kind, name, key)
);

create index flow_records_expires_at on flow_records (expires_at) where expires_at is not null;

-- Grows with each change of a record other than tokens, which nodes learn from the events that take them.
alter table journal add column flow bigint not null default 0;

-- The present keys of an unfinished job, as JSON; null for most jobs.
alter table job_states add column flow text;
