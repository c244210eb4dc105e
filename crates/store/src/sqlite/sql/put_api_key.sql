-- put_api_key: inserts, rotates or revokes an API key. Index: the primary key.
insert into api_keys (id, role, user_id, digest, created_at, created_by, revoked_at, details)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
on conflict (id) do update
set digest = excluded.digest, revoked_at = excluded.revoked_at, details = excluded.details
