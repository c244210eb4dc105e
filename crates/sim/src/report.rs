//! Formats a failing seed: the violation, the trace of the violating job with the cluster's lines around it, and the
//! command that runs the seed again.

use std::fmt::Write;

use crate::auditor::Violation;
use crate::planted_bugs::Bug;
use crate::prelude::*;
use crate::trace::{Line, Trace};

/// Lines of the cluster that are shown before the job's first line.
const CONTEXT_LINES: usize = 5;
/// Lines that are shown if the violation has no job.
const LAST_LINES: usize = 60;

pub(crate) fn failure(seed: u64, bug: Option<Bug>, trace: &Trace, violation: &Violation) -> String {
    let mut text = format!("seed {seed} breaks law {}", violation.law);
    if let Some(job) = violation.job {
        let _ = write!(text, " with job {} ({job})", trace.label(job));
    }
    let _ = write!(text, "\n\n  found     {}\n", violation.what);
    if let Some(expected) = &violation.expected {
        let _ = writeln!(text, "  expected  {expected}");
    }
    text.push('\n');
    for line in lines_about(trace, violation.job) {
        write_line(&mut text, trace, &line, violation.job);
    }
    let bug = bug.map(|bug| format!(" --bug {}", bug.as_str())).unwrap_or_default();
    let _ = write!(text, "\nrun it again: cargo xtask sim --seed {seed}{bug}\n");
    text
}

/// The whole trace.
pub(crate) fn everything(trace: &Trace) -> String {
    let mut text = String::new();
    for line in trace.lines() {
        write_line(&mut text, trace, &line, None);
    }
    text
}

/// The job's lines and the cluster's, from shortly before the job's first; without a job, the last lines.
fn lines_about(trace: &Trace, job: Option<JobId>) -> Vec<Line> {
    let lines = trace.lines();
    let Some(job) = job else { return lines[lines.len().saturating_sub(LAST_LINES)..].to_vec() };
    let first = lines.iter().position(|line| line.job == Some(job)).unwrap_or(0);
    let is_cluster = |line: &&Line| line.job.is_none() && !line.text.starts_with("  ");
    let mut context: Vec<Line> = lines[..first].iter().filter(is_cluster).cloned().collect();
    context.drain(..context.len().saturating_sub(CONTEXT_LINES));
    let own = lines[first..].iter().filter(|line| line.job == Some(job) || is_cluster(line)).cloned();
    context.into_iter().chain(own).collect()
}

fn write_line(text: &mut String, trace: &Trace, line: &Line, only: Option<JobId>) {
    let (seconds, millis) = (line.at_ms / 1000, line.at_ms % 1000);
    let subject = match line.job {
        Some(job) if only.is_none() => format!("job {}: ", trace.label(job)),
        Some(_) => String::new(),
        None => "* ".to_owned(),
    };
    let _ = writeln!(text, "{seconds:>6}.{millis:03}  {subject}{}", line.text);
}
