-- insert_account: new accounts. The journal's lock is held, so none is inserted concurrently.
insert into accounts (user_id, granted, reserved, spent)
select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
