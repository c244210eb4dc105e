-- touch_api_key: when API keys were last used. Index: the primary key.
update api_keys k set last_used_at = greatest(k.last_used_at, u.last_used_at)
from unnest($1::text[], $2::bigint[]) as u (id, last_used_at)
where k.id = u.id
