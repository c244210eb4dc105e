-- touch_api_key: when an API key was last used. Index: the primary key.
update api_keys set last_used_at = max(coalesce(last_used_at, 0), ?2) where id = ?1
