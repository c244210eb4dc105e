-- load_accounts: accounts of a batch: of the given users, and of the owners of jobs with a cost. Locked last, in
-- order. Index: the primary keys.
select user_id, granted, reserved, spent from accounts
where user_id = any($1::text[] || array(select j.user_id from jobs j where j.id = any($2) and j.cost > 0))
order by user_id for update
