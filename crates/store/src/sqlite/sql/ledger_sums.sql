-- ledger_sums: sums of the ledger of a user, for verify. Index: ledger_user.
select kind, sum(amount) from ledger where user_id = ?1 group by kind
