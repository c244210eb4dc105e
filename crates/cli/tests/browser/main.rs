//! The dashboard as a person sees it: the real binary, Chromium, and stories.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

#[path = "../http/harness.rs"]
#[allow(dead_code, reason = "shared with the tests of HTTP, which need all of it")]
mod harness;
mod pages;
mod story;
#[allow(dead_code, reason = "the stories to come use it")]
mod town;
mod visits;
