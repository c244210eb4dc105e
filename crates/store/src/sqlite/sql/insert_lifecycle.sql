-- insert_lifecycle: a registered lifecycle file.
insert into lifecycles (name, version, source) values (?1, ?2, ?3)
