//! What `tenure run` prints to stderr: lines, and a progress bar below them if stderr is a terminal.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tenure_api::{JobRecord, LogLine};

use crate::output;
use crate::show;

pub(super) struct Progress {
    bar: Option<ProgressBar>,
    printed: Option<f64>,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { bar: std::io::stderr().is_terminal().then(bar), printed: None }
    }

    pub(super) fn has_bar(&self) -> bool {
        self.bar.is_some()
    }

    /// Prints a line above the bar.
    pub(super) fn line(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::message(line)),
            None => output::message(line),
        }
    }

    /// Prints a line of the job's log, marked so that it differs from our own lines.
    pub(super) fn log(&self, line: &LogLine) {
        let mark = if line.stream == "stderr" { '!' } else { '|' };
        self.line(&format!("  {mark} {}", show::plain(&line.text)));
    }

    /// Shows the job's progress; without a bar, only if it has changed.
    pub(super) fn update(&mut self, job: &JobRecord) {
        let Some(percent) = job.progress else { return };
        if percent == 0.0 && self.printed.is_none() {
            return;
        }
        let message = show::text(&job.progress_message);
        match &self.bar {
            Some(bar) => {
                // The bar stays hidden until the job has reported progress.
                if self.printed.is_none() {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                bar.set_message(message);
                bar.set_position(percent as u64);
            }
            None if self.printed != Some(percent) => self.line(format!("{percent} % {message}").trim_end()),
            None => {}
        }
        self.printed = Some(percent);
    }

    pub(super) fn finish(&self) {
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
