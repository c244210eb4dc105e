//! Histogram of the newest matching jobs by creation time and kind of state; each bar links to its jobs.

use tenure_service::search::search;

use super::filters::Filters;
use crate::prelude::*;

/// Jobs that are counted.
const JOBS: usize = 500;
const BARS: u64 = 40;
/// Height of the drawing, and width of a bar with its gap, in SVG units.
const HEIGHT: f64 = 60.0;
const STEP: u64 = 10;

/// What a bar counts, from the axis upwards.
const KINDS: [(&str, &str); 3] = [("failed", "failed"), ("succeeded", "finished"), ("ready", "unfinished")];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bar([u64; 3]);

impl Bar {
    fn add(&mut self, phase: Phase) {
        let kind = match phase.outcome() {
            Some(outcome) if outcome.is_failure() => 0,
            Some(_) => 1,
            None => 2,
        };
        self.0[kind] += 1;
    }

    fn total(self) -> u64 {
        self.0.iter().sum()
    }

    /// `12 jobs: 2 failed, 10 finished`.
    fn words(self) -> String {
        let counts = self.0.iter().zip(KINDS).filter(|(number, _)| **number > 0);
        let counts: Vec<String> = counts.map(|(number, (_, name))| format!("{number} {name}")).collect();
        format!("{} jobs: {}", self.total(), counts.join(", "))
    }
}

/// Nothing for fewer than two jobs.
pub(super) async fn histogram(
    service: &Service,
    caller: &Caller,
    filters: &Filters,
    scan_end: Option<JobId>,
) -> Result<Markup> {
    let mut query = filters.query.clone();
    query.filter.from = scan_end;
    let found = search(service, caller, &query, Rows { before: None, limit: JOBS }).await?;
    let jobs: Vec<(Timestamp, Phase)> =
        found.jobs.iter().map(|job| (job.spec.created_at, job.phase)).collect();
    let times = || jobs.iter().map(|(at, _)| *at);
    let (Some(from), Some(to), true) = (times().min(), times().max(), jobs.len() > 1) else {
        return Ok(html! {});
    };
    // Whole seconds, so that each bar has an exact address.
    let width = ((to - from).0 / BARS / 1000 + 1) * 1000;
    let from = Timestamp(from.0.div_euclid(1000) * 1000);
    let bars = bars(&jobs, from, width);
    let is_cut = found.next.is_some();
    Ok(draw(filters, &bars, from, width, jobs.len(), is_cut))
}

fn bars(jobs: &[(Timestamp, Phase)], from: Timestamp, width: u64) -> Vec<Bar> {
    let mut bars = Vec::new();
    for (at, phase) in jobs {
        let index = ((*at - from).0 / width) as usize;
        bars.resize(bars.len().max(index + 1), Bar::default());
        bars[index].add(*phase);
    }
    bars
}

fn draw(filters: &Filters, bars: &[Bar], from: Timestamp, width: u64, jobs: usize, is_cut: bool) -> Markup {
    let highest = bars.iter().map(|bar| bar.total()).max().unwrap_or(1).max(1) as f64;
    let at = |index: usize| from + Millis(index as u64 * width);
    // As wide for a short time: bars are not stretched.
    let view = format!("0 0 {} {HEIGHT}", (bars.len() as u64).max(BARS) * STEP);
    html! {
        figure.histogram {
            svg viewBox=(view) preserveAspectRatio="none" role="group" aria-label="Jobs by the time of their creation" {
                @for (index, bar) in bars.iter().enumerate().filter(|(_, bar)| bar.total() > 0) {
                    a href=(filters.within(at(index), at(index + 1))) aria-label=(format!("{}, {}", at(index), bar.words())) {
                        title { (at(index)) ", " (bar.words()) }
                        (stack(*bar, index as u64 * STEP, highest))
                    }
                }
            }
            figcaption.hint {
                @if is_cut { "The newest " (count(jobs as u64)) " jobs" } @else { (count(jobs as u64)) " jobs" }
                ", created from " (when(from)) " to " (when(at(bars.len()))) ". "
                @for (class, name) in KINDS { span class=(class) { span.swatch {} (name) } " " }
            }
        }
    }
}

/// The rectangles of a bar.
fn stack(bar: Bar, x: u64, highest: f64) -> Markup {
    let mut top = HEIGHT;
    html! {
        @for ((class, _), number) in KINDS.iter().zip(bar.0).filter(|(_, number)| *number > 0) {
            @let height = number as f64 / highest * HEIGHT;
            @let y = { top -= height; top };
            rect class=(class) x=(x) y=(format!("{y:.1}")) width=(STEP - 2) height=(format!("{height:.1}")) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::lifecycle::Outcome;

    use super::*;

    #[test]
    fn each_job_is_in_the_bar_of_its_time() {
        let (done, dead) = (Phase::Final(Outcome::Succeeded), Phase::Final(Outcome::Dead));
        let jobs = [(0, done), (999, Phase::Ready), (1000, dead), (3999, done)]
            .map(|(at, phase)| (Timestamp(at), phase));
        let expected = [Bar([0, 1, 1]), Bar([1, 0, 0]), Bar([0, 0, 0]), Bar([0, 1, 0])];
        assert_eq!(bars(&jobs, Timestamp(0), 1000), expected);
        assert_eq!(Bar([2, 10, 0]).words(), "12 jobs: 2 failed, 10 finished");
    }
}
