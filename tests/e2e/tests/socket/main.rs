//! The engine socket from outside: the real binary, and the Socket.IO clients that others use.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod cancels;
mod endings;
mod engines;
mod front_ends;
mod limits;
mod nodes;
mod promises;
