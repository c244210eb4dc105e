-- last_position: the end of the journal. Index: the primary key.
select position from events order by position desc limit 1
