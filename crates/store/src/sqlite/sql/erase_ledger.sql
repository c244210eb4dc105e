-- erase_ledger: gives the ledger lines of an erased user its alias. Index: ledger_user.
update ledger set user_id = ?2, reason = null where user_id = ?1
