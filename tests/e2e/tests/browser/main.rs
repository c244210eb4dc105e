//! The dashboard in Chromium. Each test runs a story: a JavaScript module beside this file.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod operators;
mod pages;
mod sample_data;
mod sessions;
