-- change_flow: other nodes read the records of flow control again. Index: the primary key.
update journal set flow = flow + 1 where id = 1
