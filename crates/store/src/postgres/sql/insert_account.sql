-- insert_account: new accounts. One inserted concurrently is a conflict, and the batch is decided again.
insert into accounts (user_id, granted, reserved, spent)
select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
