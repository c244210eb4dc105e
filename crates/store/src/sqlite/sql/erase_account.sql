-- erase_account: deletes the account of an erased user. Its amounts are under the alias. Index: the primary key.
delete from accounts where user_id = ?1
