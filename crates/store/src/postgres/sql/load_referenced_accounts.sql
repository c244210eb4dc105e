-- load_referenced_accounts: accounts that loaded jobs refer to, without a lock: a batch that changes one is run again
-- with it among its reads. Index: the primary key.
select user_id, granted, reserved, spent from accounts where user_id = any($1)
