-- session: one session. Index: the primary key.
select body from sessions where digest = ?1
