-- commit_done: whether a fenced batch committed. Index: the primary key.
select done from commits where id = $1
