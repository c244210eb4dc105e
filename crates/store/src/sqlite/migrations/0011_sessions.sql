-- Sessions of the dashboard, by the SHA-256 of their ids in hex. The body is JSON.

create table sessions (
    digest     text not null primary key,
    expires_at integer not null,
    body       text not null
) strict, without rowid;

create index sessions_expires_at on sessions (expires_at);
