-- Assets of jobs, and objects that are to be deleted.

create table assets (
    id           blob    not null primary key,
    job_id       blob    not null,
    user_id      text,
    asset_type   text    not null,
    url          text    not null,
    storage_path text,
    file_size    integer,
    stored       integer not null,
    created_at   integer not null,
    discarded_at integer
) strict, without rowid;

create index assets_job on assets (job_id, id);

-- An object is promised to the garbage before it is written, and when its asset goes.
create table asset_garbage (
    storage_path text    not null primary key,
    due_at       integer not null
) strict, without rowid;

create index asset_garbage_due_at on asset_garbage (due_at, storage_path);
