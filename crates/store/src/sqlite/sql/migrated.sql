-- migrated: applied migrations, in order. Index: the primary key.
select number, checksum from migrations order by number
