-- remove_intake: removes requests that are judged. Index: the primary key.
delete from intake i using unnest($1::bigint[], $2::bigint[]) as u (tx, number) where i.tx = u.tx and i.number = u.number
