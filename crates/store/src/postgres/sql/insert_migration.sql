-- insert_migration: records a migration.
insert into migrations (number, checksum) values ($1, $2)
