-- ledger: ledger lines of a user after a row. Index: ledger_user.
select id, ts, user_id, kind, amount, job_id, reason from ledger where user_id = $1 and id > $2 order by id limit $3
