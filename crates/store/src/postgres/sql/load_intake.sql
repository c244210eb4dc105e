-- load_intake: which requests are still there. Requires `lock_journal`, under which they are removed. Index: the primary key.
select i.tx, i.number from unnest($1::bigint[], $2::bigint[]) as u (tx, number)
join intake i on i.tx = u.tx and i.number = u.number
