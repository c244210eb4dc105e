-- lifecycles: every lifecycle file that was ever in force. Index: the primary key.
select name, version, source from lifecycles order by name, version
