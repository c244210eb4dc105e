-- load_accounts: accounts of a batch. Index: the primary key.
select user_id, granted, reserved, spent from accounts where user_id = any($1)
