-- What an API key has besides one role and a user, as JSON; null for keys of earlier versions. When it was last used.

alter table api_keys add column details text;
alter table api_keys add column last_used_at integer;
