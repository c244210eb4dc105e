-- put_dead_letter: inserts or dismisses dead letters. Index: the primary key.
insert into dead_letters (job_id, created_at, reason_code, stage, dismissed, letter)
select * from unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::boolean[], $6::text[])
on conflict (job_id) do update set dismissed = excluded.dismissed, letter = excluded.letter
