-- scan_accounts: users after one, with or without an account, and the sums of their ledgers, for verify. Index: the
-- primary key, ledger_user.
with users as (
    (select user_id from accounts where user_id > $1 order by user_id limit $2)
    union
    (select distinct user_id from ledger where user_id > $1 order by user_id limit $2)
    order by user_id limit $2
)
select u.user_id, a.granted, a.reserved, a.spent, l.kind, sum(l.amount)::bigint
from users u
left join accounts a on a.user_id = u.user_id
left join ledger l on l.user_id = u.user_id
group by u.user_id, a.granted, a.reserved, a.spent, l.kind
order by u.user_id, l.kind
