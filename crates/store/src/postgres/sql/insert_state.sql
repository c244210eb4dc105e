-- insert_state: the first state of a job, with copies of the columns that claims and listings filter by.
insert into job_states (id, state, phase, outcome, seq, attempt, retry_count, fence, run_at, timeout_at, due_at,
    clock_at, updated_at, claimed_at, started_at, completed_at, entered, worker, lease, last_lease, error, result,
    checkpoint, progress, cancel, log_count, amended, clock_slot, ready, priority, lifecycle, type, queue)
select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::integer[], $7::integer[],
    $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],
    $15::bigint[], $16::bigint[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[],
    $23::text[], $24::text[], $25::text[], $26::bigint[], $27::text[], $28::bigint[], $29::boolean[],
    $30::integer[], $31::text[], $32::text[], $33::text[])
