-- ledger_sums: what a user's ledger adds up to, for verify. Index: ledger_user.
select kind, sum(amount) from ledger where user_id = ?1 group by kind
