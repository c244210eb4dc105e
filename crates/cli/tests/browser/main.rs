//! The dashboard as a person sees it: the real binary, Chromium, and stories.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

#[path = "../http/harness.rs"]
#[allow(dead_code, reason = "shared with the tests of HTTP, which need all of it")]
mod harness;
mod operators;
mod pages;
mod story;
mod town;
mod visits;
