-- update_state: where jobs stand now. Fails (22012) unless each of them is there. Index: the primary key.
with changed as (
    update job_states s set state = u.state, phase = u.phase, outcome = u.outcome, seq = u.seq, attempt = u.attempt,
    retry_count = u.retry_count, fence = u.fence, run_at = u.run_at, timeout_at = u.timeout_at, due_at = u.due_at,
    clock_at = u.clock_at, updated_at = u.updated_at, claimed_at = u.claimed_at, started_at = u.started_at,
    completed_at = u.completed_at, entered = u.entered, worker = u.worker, lease = u.lease, last_lease = u.last_lease,
    error = u.error, result = u.result, checkpoint = u.checkpoint, progress = u.progress, cancel = u.cancel, log_count
    = u.log_count, amended = u.amended, clock_slot = u.clock_slot, ready = u.ready, priority = u.priority
    from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::integer[], $7::integer[],
    $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],
    $15::bigint[], $16::bigint[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[],
    $23::text[], $24::text[], $25::text[], $26::bigint[], $27::text[], $28::bigint[], $29::boolean[],
    $30::integer[])
    as u (id, state, phase, outcome, seq, attempt, retry_count, fence, run_at, timeout_at, due_at, clock_at,
    updated_at, claimed_at, started_at, completed_at, entered, worker, lease, last_lease, error, result, checkpoint,
    progress, cancel, log_count, amended, clock_slot, ready, priority)
    where s.id = u.id returning 1
)
select 1 / (count(*) = cardinality($1::uuid[]))::integer from changed
