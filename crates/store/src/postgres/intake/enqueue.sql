-- Requests a job, and returns its id.
create or replace function "tenure".enqueue(
    type text,
    payload json default '{}',
    idempotency_key text default null,
    queue text default null,
    priority int default null,
    run_at timestamptz default null,
    user_id text default null,
    correlation_id text default null
) returns uuid language plpgsql volatile security definer set search_path = "tenure", pg_temp as $$
declare
    id uuid := new_id();
begin
    if type is null or length(type) not between 1 and 100 then
        raise exception using errcode = '22023', message = 'type must have 1 to 100 characters';
    elsif octet_length(payload::text) > 1048576 then
        raise exception using errcode = '22023', message = 'payload must have at most 1 MiB';
    elsif idempotency_key !~ '^[\x20-\x7e]{1,255}$' then
        raise exception using errcode = '22023', message = 'idempotency_key must have 1 to 255 printable ASCII characters';
    elsif length(queue) not between 1 and 100 then
        raise exception using errcode = '22023', message = 'queue must have 1 to 100 characters';
    elsif run_at in ('infinity', '-infinity') then
        raise exception using errcode = '22023', message = 'run_at must be finite';
    elsif length(user_id) > 200 then
        raise exception using errcode = '22023', message = 'user_id must have at most 200 characters';
    elsif length(correlation_id) > 200 then
        raise exception using errcode = '22023', message = 'correlation_id must have at most 200 characters';
    end if;
    insert into intake (kind, job, receipt, name, body, idempotency_key, queue, priority, run_at, user_id, correlation_id)
    values ('enqueue', id, id, type, coalesce(payload::text, '{}'), idempotency_key, queue, priority,
        (extract(epoch from run_at) * 1000)::bigint, user_id, correlation_id);
    return id;
end
$$;
