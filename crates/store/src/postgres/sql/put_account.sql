-- put_account: updates accounts. Fails (22012) if one does not exist. Index: the primary key.
with changed as (
    update accounts a set granted = u.granted, reserved = u.reserved, spent = u.spent
    from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) as u (user_id, granted, reserved, spent)
    where a.user_id = u.user_id returning 1
)
select 1 / (count(*) = cardinality($1::text[]))::integer from changed
