//! Timeline of a job's attempts: how long each waited, was held and ran, its heartbeats, and how it ended.

use tenure_core::event::Telemetry;
use tenure_core::job::Lease;
use tenure_core::time::Now;

use super::error::{code, error};
use super::path::Stay;
use crate::prelude::*;

/// The last attempts are shown.
const ATTEMPTS_MAX: usize = 20;
/// Width of the axis in SVG units.
const WIDTH: f64 = 1000.0;
/// Heartbeats closer than this, in SVG units, are one tick.
const TICK_DISTANCE: f64 = 3.0;

/// The common time axis. It ends with the last known time rather than the present, so that it changes with events only.
struct AttemptAxis {
    from: Timestamp,
    to: Timestamp,
}

impl AttemptAxis {
    fn of(shown: &[Attempt<'_>], job: &Job, now: Now) -> Option<Self> {
        let from = shown.first()?.stays.first()?.from();
        let last = shown.last()?;
        let mut to = last.stays.iter().map(|stay| stay.out.unwrap_or(stay.by).ts).max()?;
        to = last.beats.last().copied().unwrap_or(to).max(to);
        match &job.lease {
            Some(lease) => to = to.max(now.calendar(lease.expires())),
            // Space for an unfinished stay.
            None if !job.phase.is_final() => to = to + Millis(((to - from).0 / 10).max(1000)),
            None => {}
        }
        Some(Self { from, to: to.max(from + Millis(1)) })
    }

    fn x(&self, at: Timestamp) -> f64 {
        let whole = (self.to - self.from).0 as f64;
        (at - self.from).0 as f64 / whole * WIDTH
    }
}

struct Attempt<'e> {
    number: u32,
    stays: Vec<Stay<'e>>,
    /// The claim and its lease.
    claim: Option<(&'e Event, &'e Lease)>,
    /// Times of heartbeats and progress reports.
    beats: Vec<Timestamp>,
    end: Option<&'e Event>,
    lease_end: Option<Timestamp>,
}

impl<'e> Attempt<'e> {
    fn new(stays: &[Stay<'e>], telemetry: &[Telemetry], job: &Job, now: Now) -> Option<Self> {
        let number = stays.first()?.by.attempt;
        let claim = stays.iter().find_map(|stay| Some((stay.by, stay.by.facts.lease.as_deref()?)));
        let fence = claim.map(|(_, lease)| lease.fence);
        let beats = telemetry.iter().filter(|line| Some(line.fence) == fence).map(|line| line.ts).collect();
        let end = stays.iter().rev().find(|stay| !stay.phase().is_final()).and_then(|stay| stay.out);
        let held = job.lease.as_deref().filter(|lease| Some(lease.fence) == fence);
        let lease_end = match held {
            Some(lease) => Some(now.calendar(lease.expires())),
            None => claim.and_then(|(claim, lease)| ended_lease(claim, lease, stays)),
        };
        let stays = stays.iter().filter(|stay| !stay.phase().is_final()).copied().collect();
        Some(Self { number, stays, claim, beats, end, lease_end })
    }

    /// The last sign of the worker in an unfinished stay.
    fn last_beat(&self, stay: &Stay<'_>) -> Timestamp {
        self.beats.last().copied().unwrap_or_default().max(stay.from())
    }

    /// Text equivalent of the drawing.
    fn description(&self) -> String {
        let one = |stay: &Stay<'_>| match stay.lasted() {
            Some(lasted) => format!("{} {}", stay.by.to, span(lasted)),
            None => format!("{} now", stay.by.to),
        };
        self.stays.iter().map(one).collect::<Vec<_>>().join(" · ")
    }
}

/// When an ended lease would have expired, by the clock at its claim, without later outages.
fn ended_lease(claim: &Event, lease: &Lease, stays: &[Stay<'_>]) -> Option<Timestamp> {
    let end = stays.iter().filter_map(|stay| stay.out).find_map(|event| event.facts.lease_end)?;
    let outages = claim.ts.0 - (lease.ends.0 - i64::try_from(lease.ttl.0).ok()?);
    Some(Timestamp(end.expires.0.saturating_add(outages)))
}

/// All attempts on one axis; each unfolds to its details.
pub(super) fn timeline(job: &Job, stays: &[Stay<'_>], telemetry: &[Telemetry], now: Now) -> Markup {
    let attempts: Vec<&[Stay<'_>]> = stays.chunk_by(|one, next| one.by.attempt == next.by.attempt).collect();
    let left_out = attempts.len().saturating_sub(ATTEMPTS_MAX);
    let shown: Vec<Attempt<'_>> =
        attempts[left_out..].iter().filter_map(|stays| Attempt::new(stays, telemetry, job, now)).collect();
    let Some(axis) = AttemptAxis::of(&shown, job, now) else { return html! {} };
    html! {
        @if left_out > 0 {
            p.hint { "The last " (ATTEMPTS_MAX) " of " (count(attempts.len() as u64)) " attempts; all are in the history." }
        }
        @for attempt in &shown { (row(attempt, &axis)) }
        p.axis { (when(axis.from)) @if job.lease.is_some() { (until(axis.to)) } @else { (when(axis.to)) } }
        p.hint { "Thin: ready or waiting. Medium: held by a worker. Full: running. Ticks: heartbeats. Dashed line: end of the lease." }
    }
}

fn row(attempt: &Attempt<'_>, axis: &AttemptAxis) -> Markup {
    html! {
        details.attempt {
            summary {
                span.which { @if attempt.number == 0 { "Before attempt 1" } @else { "Attempt " (attempt.number) } }
                (bars(attempt, axis))
                span.how {
                    @match attempt.end {
                        Some(end) => { "→ " (state(end.to.as_str(), end.facts.phase())) }
                        None => span.quiet { "in progress" },
                    }
                    @if let Some(error) = attempt.end.and_then(|end| end.facts.error.as_deref()) { " " (error.code) }
                }
            }
            p.hint { (attempt.description()) }
            (details(attempt))
        }
    }
}

fn bars(attempt: &Attempt<'_>, axis: &AttemptAxis) -> Markup {
    let (mut ticks, mut last) = (Vec::new(), -TICK_DISTANCE);
    for x in attempt.beats.iter().map(|beat| axis.x(*beat)) {
        if x - last >= TICK_DISTANCE {
            ticks.push(x);
            last = x;
        }
    }
    let line = |x: f64, class: &str| {
        let x = format!("{x:.1}");
        html! { line class=(class) x1=(x) x2=(x) y1="0" y2="20" {} }
    };
    html! {
        svg viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" aria-label=(attempt.description()) {
            @for stay in &attempt.stays { (bar(attempt, stay, axis)) }
            @for x in ticks { (line(x, "beat")) }
            @if let Some(end) = attempt.lease_end.filter(|end| *end <= axis.to) { (line(axis.x(end), "lease")) }
        }
    }
}

/// A stay. The part after the last heartbeat of an unfinished stay is faint.
fn bar(attempt: &Attempt<'_>, stay: &Stay<'_>, axis: &AttemptAxis) -> Markup {
    let phase = stay.phase();
    let (y, height) = match phase {
        Phase::Active => ("1", "18"),
        Phase::Held => ("4", "12"),
        Phase::Ready | Phase::Waiting | Phase::Final(_) => ("7", "6"),
    };
    let rect = |from: Timestamp, to: Timestamp, class: String| {
        let (x, width) = (axis.x(from), (axis.x(to) - axis.x(from)).max(2.0));
        html! { rect class=(class) x=(format!("{x:.1}")) y=(y) width=(format!("{width:.1}")) height=(height) {} }
    };
    let class = kind(phase);
    match stay.out {
        Some(out) => rect(stay.from(), out.ts, class.to_owned()),
        None if phase.is_leased() => {
            let last_beat = attempt.last_beat(stay);
            html! {
                (rect(stay.from(), last_beat, class.to_owned()))
                (rect(last_beat, attempt.lease_end.unwrap_or(axis.to), format!("{class} open")))
            }
        }
        None => rect(stay.from(), axis.to, format!("{class} open")),
    }
}

fn details(attempt: &Attempt<'_>) -> Markup {
    html! {
        dl.pairs {
            @if let Some((claim, lease)) = attempt.claim {
                dt { "Worker" } dd { (lease.worker) ", fence " (lease.fence) }
                dt { "Claimed" } dd { (when(claim.ts)) }
            }
            @for stay in &attempt.stays {
                dt { (stay.by.to) }
                dd { "from " (when(stay.from())) @if let Some(lasted) = stay.lasted() { ", for " (span(lasted)) } }
            }
            @if let Some(last) = attempt.beats.last() {
                dt { "Heartbeats" } dd { (count(attempt.beats.len() as u64)) ", last " (when(*last)) }
            }
            @if let Some(end) = attempt.lease_end { dt { "Lease" } dd { "to " (when(end)) } }
            @if let Some(end) = attempt.end {
                dt { "Ended" }
                dd {
                    (when(end.ts)) " by " (end.trigger) ", " (end.actor.0)
                    @if let Some(end) = &end.facts.lease_end { "; its lease was " (code(&end.how)) }
                }
            }
        }
        @if let Some(failure) = attempt.end.and_then(|end| end.facts.error.as_deref()) { (error(failure)) }
    }
}
