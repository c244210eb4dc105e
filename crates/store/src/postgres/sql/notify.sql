-- notify: tells the other nodes of a commit.
select pg_notify('tenure', $1)
