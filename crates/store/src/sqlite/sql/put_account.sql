-- put_account: inserts or updates an account. Index: the primary key.
insert into accounts (user_id, granted, reserved, spent) values (?1, ?2, ?3, ?4)
on conflict (user_id) do update set granted = excluded.granted, reserved = excluded.reserved, spent = excluded.spent
