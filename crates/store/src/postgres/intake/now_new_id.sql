-- A UUID of version 7: milliseconds, then microseconds within them, then chance. So ids of one transaction are in the order of its calls.
create or replace function "tenure".new_id() returns uuid language sql volatile set search_path = pg_catalog, pg_temp as $$
    select encode(
        overlay(overlay(uuid_send(gen_random_uuid()) placing substring(int8send(us / 1000) from 3) from 1 for 6)
            placing substring(int8send(28672 + (us % 1000) * 4) from 7) from 7 for 2),
        'hex')::uuid
    from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as us) clock
$$;
