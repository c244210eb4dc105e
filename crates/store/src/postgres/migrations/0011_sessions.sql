-- Sessions of the dashboard, by the SHA-256 of their ids in hex. The body is JSON.

create table sessions (
    digest     text   collate "C" not null primary key,
    expires_at bigint not null,
    body       text not null
);

create index sessions_expires_at on sessions (expires_at);
