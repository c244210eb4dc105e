-- insert_lifecycle: a lifecycle file that came into force.
insert into lifecycles (name, version, source) values (?1, ?2, ?3)
