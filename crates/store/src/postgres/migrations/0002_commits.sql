-- Whether a commit happened, for a node that did not get its answer. The transaction's id cannot say so: after a crash
-- the server gives the ids of transactions that it lost to new ones. So each batch leaves a row here and takes away an
-- earlier one of its node.
create table commits (
    id   uuid    not null primary key,
    done boolean not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
