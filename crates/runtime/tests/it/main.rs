//! The runtime on the memory store with virtual time, and on SQLite where a file matters. Nobody sleeps: tokio's paused
//! clock goes on by itself while everyone waits.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod admission;
mod batches;
mod fixture;
mod following;
mod schedules;
mod time;
mod verify;
mod waiting;
