-- Requests a signal to a job.
create or replace function "tenure".signal(job uuid, name text, note json default null)
returns void language plpgsql volatile security definer set search_path = "tenure", pg_temp as $$
begin
    if job is null then
        raise exception using errcode = '22023', message = 'job must not be null';
    elsif name is null or length(name) not between 1 and 100 then
        raise exception using errcode = '22023', message = 'name must have 1 to 100 characters';
    elsif octet_length(note::text) > 1048576 then
        raise exception using errcode = '22023', message = 'note must have at most 1 MiB';
    end if;
    insert into intake (kind, job, receipt, name, body) values ('signal', job, new_id(), name, note::text);
end
$$;
