-- insert_event: one event with its position in the journal.
insert into events (position, job_id, seq, name, "trigger", from_state, to_state, attempt, ts, actor, cause, facts)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
