-- Requests the cancel of a job.
create or replace function "tenure".cancel(job uuid, mode text default 'soft', reason text default null)
returns void language plpgsql volatile security definer set search_path = "tenure", pg_temp as $$
begin
    if job is null then
        raise exception using errcode = '22023', message = 'job must not be null';
    elsif coalesce(mode, 'soft') not in ('soft', 'hard') then
        raise exception using errcode = '22023', message = 'mode must be soft or hard';
    elsif octet_length(reason) > 1048576 then
        raise exception using errcode = '22023', message = 'reason must have at most 1 MiB';
    end if;
    insert into intake (kind, job, receipt, name, body) values ('cancel', job, new_id(), coalesce(mode, 'soft'), reason);
end
$$;
