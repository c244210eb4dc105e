-- notify: tells the other nodes of a commit. The channel is named after the schema. A notification need not be on disk: without
-- `synchronous_commit`, for this transaction alone, the next commit of a batch does not wait for another sync.
select pg_notify($1, $2), set_config('synchronous_commit', 'off', true)
