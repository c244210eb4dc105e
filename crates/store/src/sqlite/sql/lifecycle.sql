-- lifecycle: one lifecycle file. Index: the primary key.
select source from lifecycles where name = ?1 and version = ?2
