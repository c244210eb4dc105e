-- migrations: table of applied migrations with their checksums.
create table if not exists migrations (number integer not null primary key, checksum text not null) strict
