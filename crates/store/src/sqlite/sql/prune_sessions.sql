-- prune_sessions: deletes expired sessions, a bounded number at once. Index: sessions_expires_at.
delete from sessions where digest in (select digest from sessions where expires_at <= ?1 limit 1000)
