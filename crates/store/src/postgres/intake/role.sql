-- The role for producers: it may call the functions, and can neither read nor write tables.
do $$
begin
    if not exists (select from pg_roles where rolname = 'tenure_producer') then
        create role tenure_producer nologin;
    end if;
end
$$;
grant usage on schema "tenure" to tenure_producer;
grant execute on function "tenure".enqueue(text, json, text, text, int, timestamptz, text, text) to tenure_producer;
grant execute on function "tenure".cancel(uuid, text, text) to tenure_producer;
grant execute on function "tenure".signal(uuid, text, json) to tenure_producer;
