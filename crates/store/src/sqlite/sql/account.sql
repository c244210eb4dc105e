-- account: the account of a user. Index: the primary key.
select granted, reserved, spent from accounts where user_id = ?1
