-- put_state: the states of finished jobs, and of others that are saved, with copies of columns that listings filter by. Index: the
-- primary key.
insert into job_states (id, state, phase, outcome, seq, attempt, retry_count, fence, run_at, timeout_at, due_at,
    clock_at, updated_at, claimed_at, started_at, completed_at, entered, worker, lease, last_lease, error, result,
    checkpoint, progress, cancel, log_count, amended, priority, lifecycle, type, queue, flow)
select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::integer[], $7::integer[],
    $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],
    $15::bigint[], $16::bigint[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[],
    $23::text[], $24::text[], $25::text[], $26::bigint[], $27::text[], $28::integer[], $29::text[], $30::text[],
    $31::text[], $32::text[])
on conflict (id) do update set state = excluded.state, phase = excluded.phase, outcome = excluded.outcome,
    seq = excluded.seq, attempt = excluded.attempt, retry_count = excluded.retry_count, fence = excluded.fence,
    run_at = excluded.run_at, timeout_at = excluded.timeout_at, due_at = excluded.due_at, clock_at = excluded.clock_at,
    updated_at = excluded.updated_at, claimed_at = excluded.claimed_at, started_at = excluded.started_at,
    completed_at = excluded.completed_at, entered = excluded.entered, worker = excluded.worker, lease = excluded.lease,
    last_lease = excluded.last_lease, error = excluded.error, result = excluded.result,
    checkpoint = excluded.checkpoint, progress = excluded.progress, cancel = excluded.cancel,
    log_count = excluded.log_count, amended = excluded.amended, priority = excluded.priority, flow = excluded.flow
