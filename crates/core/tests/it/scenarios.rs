//! Scenarios by topic. Each test name is a sentence, with a script that shows it.

use crate::script::check;

mod assets;
mod batches;
mod callers;
mod cancels;
mod claims;
mod clocks;
mod creations;
mod leases;
mod operations;
mod retries;
mod schedules;
mod versions;
