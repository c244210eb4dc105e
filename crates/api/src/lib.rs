//! The HTTP API of Tenure in one place: the types of requests and answers, the problem codes, the rights, and one table of
//! calls. The router, the permission check, `openapi.json`, the lifecycle APIs and the SDK derive from it.
//!
//! The crate performs no I/O and depends on nothing of the engine.

#[macro_use]
pub mod schema;

mod automations;
pub mod call;
mod catalog;
mod flow;
pub mod form;
mod history;
pub mod instant;
mod integer;
mod job;
#[cfg(test)]
mod openapi;
mod operators;
mod problem;
pub mod request;
mod right;
pub mod span;
mod stats;
mod strict;
pub mod values;

pub use automations::*;
pub use call::{Call, CallId, Method};
pub use catalog::*;
pub use flow::*;
pub use form::{Form, Owned};
pub use history::*;
pub use job::*;
pub use operators::*;
pub use problem::{Problem, ProblemCode};
pub use right::Right;
pub use stats::*;
pub use strict::ObjectOnly;
pub use tenure_core::command::GENERATED_KEY_PREFIX;
pub use values::{CancelMode, Verb};

/// The description of the API (`OpenAPI` 3.1), generated from this crate. `UPDATE_EXPECT=1 cargo test -p tenure-api`
/// rewrites it.
pub const OPENAPI: &str = include_str!("../openapi.json");
