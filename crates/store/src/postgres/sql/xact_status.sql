-- xact_status: what became of a transaction whose commit was not answered.
select pg_xact_status($1::text::xid8)
