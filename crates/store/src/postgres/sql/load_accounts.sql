-- load_accounts: accounts for a batch, of users and of the owners of jobs that cost something, locked last and in
-- order. Index: the primary keys.
select user_id, granted, reserved, spent from accounts
where user_id = any($1::text[] || array(select j.user_id from jobs j where j.id = any($2) and j.cost > 0))
order by user_id for update
