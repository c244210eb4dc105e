-- last_position: the end of the journal. Index: the primary key.
select position from journal where id = 1
