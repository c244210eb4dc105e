-- scan_accounts: users after one, with or without an account, for verify. Index: the primary key, ledger_user.
select user_id from (
    select * from (select user_id from accounts where user_id > ?1 order by user_id limit ?2)
    union
    select * from (select distinct user_id from ledger where user_id > ?1 order by user_id limit ?2)
) order by user_id limit ?2
