-- Which connection has a worker's name. None, if it never came by one that stays.

alter table workers add column connection blob;
