-- accounts: accounts after a user. Index: the primary key.
select user_id, granted, reserved, spent from accounts where user_id > ?1 order by user_id limit ?2
