//! The rules of Tenure, pure: no I/O, no clock, no randomness, no async, no logging. Commands in, events or a refusal
//! out; time and random values are arguments.
//!
//! In reading order: [`lifecycle`] (declared and proved state machines), [`job`] and [`event`] (stored data),
//! [`command`] (requests), [`decide`] (their judgement), [`fold`] (recomputation of jobs from their events).

#[macro_use]
mod named;

pub mod api_key;
pub mod asset;
pub mod attention;
pub mod automation;
pub mod backoff;
pub mod command;
pub mod command_origin;
pub mod credit;
pub mod dead_letter;
pub mod decide;
pub mod erasure;
pub mod error_signature;
pub mod event;
pub mod flow;
pub mod fold;
pub mod id;
pub mod intake;
pub mod job;
pub mod job_query;
pub mod job_type;
pub mod json;
pub mod lifecycle;
pub mod limits;
pub mod node;
pub mod pattern;
pub mod query;
pub mod refusal;
pub mod schedule;
pub mod session;
pub mod statistics;
pub mod text;
pub mod time;
pub mod webhook;
pub mod what_if;
pub mod worker;
pub mod working_set;
