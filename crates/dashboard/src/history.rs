//! Charts of statistics over time, which the overview and the page of a type share.

use tenure_core::statistics::SpanCounts;
use tenure_stats::{Mark, span_percentiles};

use crate::chart::{self, Axis, Line, Unit};
use crate::prelude::*;
use crate::time_range::Zone;

/// Jobs of each step, and those created in the period before.
pub(crate) fn jobs(history: &History, zone: Zone, marks: &[Mark]) -> Markup {
    let line = |name, class, value: fn(&PeriodCounts) -> u64| Line {
        name,
        class,
        values: history.current.steps.iter().map(|step| Some(value(step))).collect(),
    };
    let mut lines = vec![
        line("created", "ready", |step| step.created),
        line("succeeded", "succeeded", |step| step.succeeded),
        line("failed jobs", "failed", |step| step.failed_jobs),
        line("failed attempts", "held", |step| step.failed_attempts),
    ];
    if let Some(previous) = &history.previous {
        let values = previous.steps.iter().map(|step| Some(step.created)).collect();
        lines.push(Line { name: "created in the period before", class: "before", values });
    }
    chart::over_time("Jobs", Unit::Jobs, &axis(history, zone, marks), &lines)
}

/// `Jobs per minute`, `Jobs per 15 minutes`.
pub(crate) fn jobs_heading(history: &History) -> String {
    let length = match history.step.0 / 60_000 {
        1 => "minute".to_owned(),
        minutes if minutes < 60 => format!("{minutes} minutes"),
        60 => "hour".to_owned(),
        1440 => "day".to_owned(),
        minutes => format!("{} hours", minutes / 60),
    };
    format!("Jobs per {length}")
}

/// Ready jobs: the most in each step.
pub(crate) fn backlog(history: &History, zone: Zone, marks: &[Mark]) -> Markup {
    let values = history.current.steps.iter().map(|step| Some(step.backlog)).collect();
    let lines = [Line { name: "most ready jobs", class: "ready", values }];
    chart::over_time("Backlog", Unit::Jobs, &axis(history, zone, marks), &lines)
}

/// The median and the 95th percentile of each step.
pub(crate) fn times(
    title: &str,
    history: &History,
    zone: Zone,
    spans: fn(&PeriodCounts) -> &SpanCounts,
) -> Markup {
    let percentiles: Vec<_> =
        history.current.steps.iter().map(|step| span_percentiles(spans(step))).collect();
    let lines = [
        Line { name: "p95", class: "held", values: percentiles.iter().map(|it| it.p95).collect() },
        Line { name: "p50", class: "active", values: percentiles.iter().map(|it| it.p50).collect() },
    ];
    chart::over_time(title, Unit::Milliseconds, &axis(history, zone, &[]), &lines)
}

fn axis<'a>(history: &History, zone: Zone, marks: &'a [Mark]) -> Axis<'a> {
    let (from, steps) = (history.current.from, history.current.steps.len());
    Axis { from, step: history.step, steps, zone, marks }
}

/// Deploys and actions of operators in the drawn period.
pub(crate) async fn marks(service: &Service, history: &History) -> Result<Vec<Mark>> {
    Ok(service.stats().marks(history.current.from, history.current.until).await?)
}
