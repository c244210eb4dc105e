//! The engine socket of the real binary, with the official Socket.IO clients.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod cancels;
mod credentials;
mod endings;
mod engines;
mod front_ends;
mod limits;
mod nodes;
mod promises;
