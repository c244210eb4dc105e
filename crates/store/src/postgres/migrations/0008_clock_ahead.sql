-- How far the store's clock was ahead of the database's at the last heartbeat, after that one was set back.
alter table clock add column ahead bigint not null default 0;
