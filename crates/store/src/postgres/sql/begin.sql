-- begin: opens the transaction of a batch and sets its time limits, because behind a pooler other clients use the
-- session afterwards. A node that stops between two statements holds the journal's lock for at most three seconds; others wait
-- for longer than that. Returns the server process, by which a pooler is detected.
begin isolation level read committed;
set local statement_timeout = 8000;
set local lock_timeout = 6000;
set local idle_in_transaction_session_timeout = 3000;
select pg_backend_pid()
