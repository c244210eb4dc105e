-- fence_commit: a batch that has not committed now never will; waits for one that is about to. Index: the primary key.
insert into commits (id, done) values ($1, false) on conflict (id) do nothing
