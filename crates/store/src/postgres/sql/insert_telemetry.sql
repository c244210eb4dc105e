-- insert_telemetry: heartbeats, renewals and progress.
insert into telemetry (job_id, ts, worker, fence, signal, keep_until)
select * from unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::bigint[])
