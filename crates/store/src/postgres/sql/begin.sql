-- begin: opens the transaction of a batch, with its own limits, since a pooler may hand the session to others after it;
-- and says which server process it is, by which a pooler is noticed.
begin isolation level read committed;
set local statement_timeout = 5000;
set local lock_timeout = 2000;
set local idle_in_transaction_session_timeout = 5000;
select pg_backend_pid()
