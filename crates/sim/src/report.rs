//! A failing seed as a readable story: what the auditor found, the life of the offending job with everything that was
//! asked and that happened around it, and the command that runs it again.

use std::fmt::Write;

use tenure_core::id::JobId;

use crate::auditor::Violation;
use crate::sabotage::Bug;
use crate::story::{Line, Story};

/// Lines of the world before the offender's first one that are told, too.
const PRELUDE_LINES: usize = 5;

/// The story of a violation.
pub(crate) fn failure(seed: u64, bug: Option<Bug>, story: &Story, found: &Violation) -> String {
    let mut text = format!("seed {seed} breaks law {}", found.law);
    if let Some(job) = found.job {
        let _ = write!(text, " with job {} ({job})", story.label(job));
    }
    let _ = write!(text, "\n\n  found     {}\n", found.what);
    if let Some(expected) = &found.expected {
        let _ = writeln!(text, "  expected  {expected}");
    }
    text.push('\n');
    for line in told(story, found.job) {
        line_to(&mut text, story, &line, found.job);
    }
    let bug = bug.map(|bug| format!(" --bug {}", bug.as_str())).unwrap_or_default();
    let _ = write!(text, "\nrun it again: cargo xtask sim --seed {seed}{bug}\n");
    text
}

/// Everything that happened.
pub(crate) fn everything(story: &Story) -> String {
    let mut text = String::new();
    for line in story.lines() {
        line_to(&mut text, story, &line, None);
    }
    text
}

/// The offender's lines and the world's, from shortly before its first; the last lines of all, if nobody in particular
/// offended.
fn told(story: &Story, offender: Option<JobId>) -> Vec<Line> {
    let lines = story.lines();
    let Some(job) = offender else { return lines[lines.len().saturating_sub(60)..].to_vec() };
    let first = lines.iter().position(|line| line.job == Some(job)).unwrap_or(0);
    let world = |line: &&Line| line.job.is_none() && !line.text.starts_with("  ");
    let mut prelude: Vec<Line> = lines[..first].iter().filter(world).cloned().collect();
    prelude.drain(..prelude.len().saturating_sub(PRELUDE_LINES));
    let own = lines[first..].iter().filter(|line| line.job == Some(job) || world(line)).cloned();
    prelude.into_iter().chain(own).collect()
}

fn line_to(text: &mut String, story: &Story, line: &Line, offender: Option<JobId>) {
    let (seconds, millis) = (line.at_ms / 1000, line.at_ms % 1000);
    let about = match line.job {
        Some(job) if offender.is_none() => format!("job {}: ", story.label(job)),
        Some(_) => String::new(),
        None => "* ".to_owned(),
    };
    let _ = writeln!(text, "{seconds:>6}.{millis:03}  {about}{}", line.text);
}
