//! The Rust SDK of Tenure.
