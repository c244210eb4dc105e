-- lifecycles: every registered lifecycle file. Index: the primary key.
select name, version, source from lifecycles order by name, version
