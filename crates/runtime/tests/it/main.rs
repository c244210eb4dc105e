//! The runtime on the memory store with virtual time, and on SQLite where a file matters. Tests do not sleep: tokio's
//! paused clock advances when all tasks are idle.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod admission;
mod batches;
mod fixture;
mod flow;
mod following;
mod intake;
mod prelude;
mod retention;
mod schedules;
mod test_store;
mod time;
mod verify;
mod waiting;
