-- commit_done: whether a batch committed, once it is fenced. Index: the primary key.
select done from commits where id = $1
