-- load_accounts_led_to: accounts that loaded jobs refer to, not locked: a batch that changes one loads it again.
-- Index: the primary key.
select user_id, granted, reserved, spent from accounts where user_id = any($1)
