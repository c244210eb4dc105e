-- load_api_keys: all API keys, for a batch. A few rows.
select id, role, user_id, digest, created_at, created_by, revoked_at, details, last_used_at
from api_keys order by id
