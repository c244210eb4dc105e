-- prune_sessions: deletes expired sessions, a bounded number at once. Index: sessions_expires_at.
delete from sessions where digest = any(array(
    select digest from sessions where expires_at <= ($1::bigint[])[1] order by expires_at limit 1000
))
