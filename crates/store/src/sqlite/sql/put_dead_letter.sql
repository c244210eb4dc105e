-- put_dead_letter: inserts or dismisses a dead letter. Index: the primary key.
insert into dead_letters (job_id, created_at, reason_code, stage, dismissed, letter) values (?1, ?2, ?3, ?4, ?5, ?6)
on conflict (job_id) do update set dismissed = excluded.dismissed, letter = excluded.letter
