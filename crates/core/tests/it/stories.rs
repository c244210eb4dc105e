//! Stories, by what they are about. Each is a sentence and a script.

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
