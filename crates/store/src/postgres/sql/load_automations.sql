-- load_automations: automations for a batch, in order. Index: the primary key.
select o.body from orders o
where (o.kind, o.id) in (select * from unnest($1::text[], $2::text[]))
order by o.kind, o.id
