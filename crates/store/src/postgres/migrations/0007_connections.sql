-- Which connection has a worker's name, wherever it stands. None, if it never came by one that stays.

alter table workers add column connection uuid;
