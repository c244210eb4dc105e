-- fence_commit: prevents a batch from committing later; waits for one that is committing now. Index: the primary key.
insert into commits (id, done) values ($1, false) on conflict (id) do nothing
