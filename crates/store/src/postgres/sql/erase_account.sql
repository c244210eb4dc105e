-- erase_account: deletes the accounts of erased users. Their amounts are under the aliases. Index: the primary key.
delete from accounts where user_id = any($1)
