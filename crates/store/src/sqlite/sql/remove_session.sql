-- remove_session: deletes a session. Index: the primary key.
delete from sessions where digest = ?1
