//! Pages and forms of the dashboard, without a browser.

mod dead_letters;
mod job;
mod jobs;
