-- put_api_key: inserts or revokes an API key. Index: the primary key.
insert into api_keys (id, role, user_id, digest, created_at, created_by, revoked_at) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
on conflict (id) do update set revoked_at = excluded.revoked_at
