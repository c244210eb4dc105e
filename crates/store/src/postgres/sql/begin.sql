-- begin: opens the transaction of a batch and sets its time limits, because behind a pooler other clients use the
-- session afterwards. Returns the server process, by which a pooler is detected.
begin isolation level read committed;
set local statement_timeout = 5000;
set local lock_timeout = 2000;
set local idle_in_transaction_session_timeout = 5000;
select pg_backend_pid()
