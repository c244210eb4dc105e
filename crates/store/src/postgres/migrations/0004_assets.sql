-- Assets of jobs, and objects that are to be deleted.

create table assets (
    id           uuid    not null primary key,
    job_id       uuid    not null,
    user_id      text    collate "C",
    asset_type   text    collate "C" not null,
    url          text    not null,
    storage_path text    collate "C",
    file_size    bigint,
    stored       boolean not null,
    created_at   bigint  not null,
    discarded_at bigint
);

create index assets_job on assets (job_id, id);

-- An object is promised to the garbage before it is written, and when its asset goes.
create table asset_garbage (
    storage_path text   collate "C" not null primary key,
    due_at       bigint not null
);

create index asset_garbage_due_at on asset_garbage (due_at, storage_path);
