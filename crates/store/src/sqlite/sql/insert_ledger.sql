-- insert_ledger: a ledger line.
insert into ledger (ts, user_id, kind, amount, job_id, reason) values (?1, ?2, ?3, ?4, ?5, ?6)
