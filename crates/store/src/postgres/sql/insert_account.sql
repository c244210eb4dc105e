-- insert_account: accounts of users who had none. One that came meanwhile is a conflict, and the batch is judged
-- again.
insert into accounts (user_id, granted, reserved, spent)
select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
