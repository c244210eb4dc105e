//! The service on a runtime without a network interface.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod leases;
