-- insert_telemetry: a heartbeat, a renewal or progress.
insert into telemetry (job_id, ts, worker, fence, signal, keep_until) values (?1, ?2, ?3, ?4, ?5, ?6)
