-- migrations: which migrations have run, with the checksum of what was run.
create table if not exists migrations (number integer not null primary key, checksum text not null)
