//! The dashboard as a person sees it: the real binary, Chromium, and stories.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod operators;
mod pages;
mod sample_data;
mod sessions;
