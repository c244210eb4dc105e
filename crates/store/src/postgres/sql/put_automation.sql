-- put_automation: updates automations. Fails (22012) if one does not exist. Index: the primary key.
with changed as (
    update orders o set due_at = u.due_at, body = u.body
    from unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) as u (kind, id, due_at, body)
    where o.kind = u.kind and o.id = u.id returning 1
)
select 1 / (count(*) = cardinality($1::text[]))::integer from changed
