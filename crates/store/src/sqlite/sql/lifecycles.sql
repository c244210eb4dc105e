-- lifecycles: every registered lifecycle file.
select name, version, source from lifecycles order by name, version
