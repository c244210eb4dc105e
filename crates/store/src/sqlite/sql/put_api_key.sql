-- put_api_key: rotates or revokes an API key. Index: the primary key.
update api_keys set digest = ?2, revoked_at = ?3, details = ?4 where id = ?1
