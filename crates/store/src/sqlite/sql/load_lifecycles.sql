-- load_lifecycles: a lifecycle file. Index: the primary key.
select name, version, source from lifecycles where name = ?1 and version = ?2
