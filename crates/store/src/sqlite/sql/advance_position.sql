-- advance_position: the journal grew. Index: the primary key.
update journal set position = ?1 where id = 1
