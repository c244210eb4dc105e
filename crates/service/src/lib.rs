//! What the HTTP API, the sockets and the dashboard share: [`Service`] and its operations, callers and their rights,
//! authentication, problems, query parameters and extractors.

pub mod accounts;
pub mod assets;
pub mod attempt_trace;
pub mod audit;
pub mod auth;
pub mod body;
pub mod bulk;
pub mod caller;
pub mod changes;
pub mod dead_letters;
pub mod events;
pub mod explain;
pub mod extract;
pub mod fields;
pub mod finished_jobs;
pub mod history;
pub mod intake;
pub mod keyring;
pub mod lifecycles;
pub mod links;
pub mod listing;
pub mod pages;
mod prelude;
pub mod problem;
pub mod query;
pub mod reloadable;
pub mod schedules;
pub mod search;
mod service;
pub mod sessions;
pub mod shell_quote;
pub mod sse;
pub mod stream_tokens;
pub mod time_machine;
pub mod webhooks;
pub mod what_if;
pub mod wire;
pub mod worker_registry;
pub mod workers;

pub use service::{Service, ServiceParts};
