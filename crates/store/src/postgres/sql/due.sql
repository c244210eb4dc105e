-- due: jobs with an overdue clock, most overdue first. Index: job_states_clock.
select id from job_states where clock_slot <= $1 and clock_at <= $2 order by clock_slot, clock_at, id limit $3
