//! A lane for each attempt: how long it waited, was held and ran, when its worker was heard, and how it ended.

use maud::{Markup, html};
use tenure_core::event::{Event, Telemetry};
use tenure_core::job::{Job, Lease};
use tenure_core::lifecycle::Phase;
use tenure_core::time::{Millis, Now, Timestamp};

use super::error::{error, word};
use super::path::Stay;
use crate::format::{count, kind, span, state, until, when};

/// Attempts that are shown: the last ones.
const LANES_MAX: usize = 20;
/// The axis, in units of the picture.
const WIDTH: f64 = 1000.0;
/// Heartbeats nearer to each other than this, in units, are one tick.
const TICK: f64 = 3.0;

/// The time that the lanes share. It ends with what is known, not with the present, so that nothing changes by itself.
struct Axis {
    from: Timestamp,
    to: Timestamp,
}

impl Axis {
    fn of(shown: &[Lane<'_>], job: &Job, now: Now) -> Option<Self> {
        let from = shown.first()?.stays.first()?.from();
        let last = shown.last()?;
        let mut to = last.stays.iter().map(|stay| stay.out.unwrap_or(stay.by).ts).max()?;
        to = last.beats.last().copied().unwrap_or(to).max(to);
        match &job.lease {
            Some(lease) => to = to.max(now.calendar(lease.expires())),
            // Room for a stay that goes on.
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

/// One attempt.
struct Lane<'e> {
    attempt: u32,
    stays: Vec<Stay<'e>>,
    /// The claim, and the lease that it granted.
    claim: Option<(&'e Event, &'e Lease)>,
    /// When its worker was heard.
    beats: Vec<Timestamp>,
    /// What ended it.
    end: Option<&'e Event>,
    lease_end: Option<Timestamp>,
}

impl<'e> Lane<'e> {
    fn new(stays: &[Stay<'e>], telemetry: &[Telemetry], job: &Job, now: Now) -> Option<Self> {
        let attempt = stays.first()?.by.attempt;
        let claim = stays.iter().find_map(|stay| Some((stay.by, stay.by.facts.lease.as_deref()?)));
        let fence = claim.map(|(_, lease)| lease.fence);
        let beats = telemetry.iter().filter(|line| Some(line.fence) == fence).map(|line| line.ts).collect();
        let end = stays.iter().rev().find(|stay| !stay.phase().is_final()).and_then(|stay| stay.out);
        let held = job.lease.as_deref().filter(|lease| Some(lease.fence) == fence);
        let lease_end = match held {
            Some(lease) => Some(now.calendar(lease.expires())),
            None => claim.and_then(|claim| ended(claim, stays)),
        };
        let stays = stays.iter().filter(|stay| !stay.phase().is_final()).copied().collect();
        Some(Self { attempt, stays, claim, beats, end, lease_end })
    }

    /// Until when something is known of an open stay of a worker's.
    fn heard(&self, stay: &Stay<'_>) -> Timestamp {
        self.beats.last().copied().unwrap_or_default().max(stay.from())
    }

    /// What the picture says.
    fn said(&self) -> String {
        let one = |stay: &Stay<'_>| match stay.lasted() {
            Some(lasted) => format!("{} {}", stay.by.to, span(lasted)),
            None => format!("{} now", stay.by.to),
        };
        self.stays.iter().map(one).collect::<Vec<_>>().join(" · ")
    }
}

/// When a lease that is over would have run out: by the calendar of its claim, which later outages did not move.
fn ended((claim, lease): (&Event, &Lease), stays: &[Stay<'_>]) -> Option<Timestamp> {
    let end = stays.iter().filter_map(|stay| stay.out).find_map(|event| event.facts.lease_end)?;
    let outages = claim.ts.0 - (lease.ends.0 - i64::try_from(lease.ttl.0).ok()?);
    Some(Timestamp(end.expires.0.saturating_add(outages)))
}

/// All lanes on one axis; each opens to what is known of its attempt.
pub(super) fn lanes(job: &Job, stays: &[Stay<'_>], telemetry: &[Telemetry], now: Now) -> Markup {
    let attempts: Vec<&[Stay<'_>]> = stays.chunk_by(|one, next| one.by.attempt == next.by.attempt).collect();
    let left_out = attempts.len().saturating_sub(LANES_MAX);
    let shown: Vec<Lane<'_>> =
        attempts[left_out..].iter().filter_map(|stays| Lane::new(stays, telemetry, job, now)).collect();
    let Some(axis) = Axis::of(&shown, job, now) else { return html! {} };
    html! {
        @if left_out > 0 {
            p.hint { "The last " (LANES_MAX) " of " (count(attempts.len() as u64)) " attempts; all are in the history." }
        }
        @for lane in &shown { (drawn(lane, &axis)) }
        p.axis { (when(axis.from)) (until_or_when(axis.to, job)) }
        p.hint { "Thin: nobody has it. Middle: a worker holds it. Full: it runs. Strokes: its worker was heard. Dashes: where its lease ends." }
    }
}

fn until_or_when(at: Timestamp, job: &Job) -> Markup {
    if job.lease.is_some() { until(at) } else { when(at) }
}

fn drawn(lane: &Lane<'_>, axis: &Axis) -> Markup {
    html! {
        details.lane {
            summary {
                span.which { "Attempt " (lane.attempt) }
                (bars(lane, axis))
                span.how {
                    @match lane.end {
                        Some(end) => { "→ " (state(end.to.as_str(), end.facts.phase())) }
                        None => span.quiet { "goes on" },
                    }
                    @if let Some(error) = lane.end.and_then(|end| end.facts.error.as_deref()) { " " (error.code) }
                }
            }
            p.hint { (lane.said()) }
            (told(lane))
        }
    }
}

fn bars(lane: &Lane<'_>, axis: &Axis) -> Markup {
    let (mut ticks, mut last) = (Vec::new(), -TICK);
    for x in lane.beats.iter().map(|beat| axis.x(*beat)) {
        if x - last >= TICK {
            ticks.push(x);
            last = x;
        }
    }
    let line = |x: f64, class: &str| {
        let x = format!("{x:.1}");
        html! { line class=(class) x1=(x) x2=(x) y1="0" y2="20" {} }
    };
    html! {
        svg viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" aria-label=(lane.said()) {
            @for stay in &lane.stays { (bar(lane, stay, axis)) }
            @for x in ticks { (line(x, "beat")) }
            @if let Some(end) = lane.lease_end.filter(|end| *end <= axis.to) { (line(axis.x(end), "lease")) }
        }
    }
}

/// A stay. Of one that goes on in a worker's hands, what is not known yet is faint.
fn bar(lane: &Lane<'_>, stay: &Stay<'_>, axis: &Axis) -> Markup {
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
            let heard = lane.heard(stay);
            html! {
                (rect(stay.from(), heard, class.to_owned()))
                (rect(heard, lane.lease_end.unwrap_or(axis.to), format!("{class} open")))
            }
        }
        None => rect(stay.from(), axis.to, format!("{class} open")),
    }
}

/// Who had it, from when to when, and what went wrong.
fn told(lane: &Lane<'_>) -> Markup {
    html! {
        dl.pairs {
            @if let Some((claim, lease)) = lane.claim {
                dt { "Worker" } dd { (lease.worker) ", fence " (lease.fence) }
                dt { "Claimed" } dd { (when(claim.ts)) }
            }
            @for stay in &lane.stays {
                dt { (stay.by.to) }
                dd { "from " (when(stay.from())) @if let Some(lasted) = stay.lasted() { ", for " (span(lasted)) } }
            }
            @if let Some(last) = lane.beats.last() {
                dt { "Heard" } dd { (count(lane.beats.len() as u64)) "×, last " (when(*last)) }
            }
            @if let Some(end) = lane.lease_end { dt { "Lease" } dd { "to " (when(end)) } }
            @if let Some(end) = lane.end {
                dt { "Ended" }
                dd {
                    (when(end.ts)) " by " (end.trigger) ", " (end.actor.0)
                    @if let Some(end) = &end.facts.lease_end { "; its lease was " (word(&end.how)) }
                }
            }
        }
        @if let Some(failure) = lane.end.and_then(|end| end.facts.error.as_deref()) { (error(failure)) }
    }
}
