-- advance_position: advances the end of the journal. Index: the primary key.
update journal set position = ?1 where id = 1
