-- insert_api_key: a new API key.
insert into api_keys (id, role, user_id, digest, created_at, created_by, revoked_at, details)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
