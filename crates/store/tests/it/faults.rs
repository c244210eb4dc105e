//! What can go wrong with the disk, the file, the server: each with the behaviour that is promised for it.

mod corrupt;
mod disk;
mod folder;
mod outages;
mod postgres;
mod shim;
mod tls;
