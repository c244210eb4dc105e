-- insert_migration: a migration has run.
insert into migrations (number, checksum) values ($1, $2)
