//! What a person sees of a running job: lines, and below them a bar where there is a terminal.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;
use tenure_client::LogLine;

use crate::output;
use crate::show;

/// stderr, with or without a bar.
pub(super) struct Screen {
    bar: Option<ProgressBar>,
    told: Option<f64>,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self { bar: std::io::stderr().is_terminal().then(bar), told: None }
    }

    pub(super) fn has_bar(&self) -> bool {
        self.bar.is_some()
    }

    /// A line, above the bar.
    pub(super) fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::words(line)),
            None => output::words(line),
        }
    }

    /// A line of the job's log, as it cannot be mistaken for one of ours.
    pub(super) fn log(&self, line: &LogLine) {
        let mark = if line.stream == "stderr" { '!' } else { '|' };
        self.say(&format!("  {mark} {}", show::plain(&line.text)));
    }

    /// How far the job is; without a bar, only if that is news.
    pub(super) fn progress(&mut self, job: &Value) {
        let Some(percent) = job["progress"].as_f64() else { return };
        if percent == 0.0 && self.told.is_none() {
            return;
        }
        let message = show::text(&job["progress_message"]);
        match &self.bar {
            Some(bar) => {
                // An empty bar would say more than is known.
                if self.told.is_none() {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                bar.set_message(message);
                bar.set_position(percent as u64);
            }
            None if self.told != Some(percent) => self.say(format!("{percent} % {message}").trim_end()),
            None => {}
        }
        self.told = Some(percent);
    }

    /// No more of the bar.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(100), ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template("{bar:30} {pos:>3} % {wide_msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
