//! Four figures with their change against the period before.

use tenure_stats::snapshot::Snapshot;
use tenure_stats::{HistoryPeriod, span_percentiles};

use crate::prelude::*;
use crate::time_range::RangeChoice;

struct Figure {
    name: &'static str,
    value: String,
    change: Change,
    href: &'static str,
}

/// Against the period before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Statistics do not reach back so far, or one of the periods has no value.
    Unknown,
    None,
    Better(String),
    Worse(String),
}

pub(crate) fn figures(snapshot: &Snapshot, history: &History, range: &RangeChoice) -> Markup {
    let (now, before) = (&history.current, history.previous.as_ref());
    let all = [created(now, before), success(now, before), wait(now, before), backlog(snapshot, history)];
    html! {
        @for Figure { name, value, change, href } in all {
            a.figure href=(href) {
                span.quiet { (name) }
                span.big { (value) }
                (change.shown(range))
            }
        }
    }
}

impl Change {
    pub(crate) fn shown(&self, range: &RangeChoice) -> Markup {
        html! {
            span.change {
                @match self {
                    Self::Unknown => span.quiet { "nothing to compare with" },
                    Self::None => span.quiet { "no change" },
                    Self::Better(text) => span.succeeded { (text) },
                    Self::Worse(text) => span.failed { (text) },
                }
                @if *self != Self::Unknown { span.quiet { " against the " (range.name()) " before" } }
            }
        }
    }

    /// Of a value that is neither better nor worse.
    pub(crate) fn neutral(self) -> Self {
        if let Self::Worse(text) = self { Self::Better(text) } else { self }
    }

    /// Of a value in percent.
    pub(crate) fn of(now: Option<f64>, before: Option<f64>, is_more_worse: bool) -> Self {
        let Some((now, before)) = now.zip(before) else { return Self::Unknown };
        match change(now, before) {
            Some((text, grew)) if grew == is_more_worse => Self::Worse(text),
            Some((text, _)) => Self::Better(text),
            None if now > 0.0 && before == 0.0 => Self::Unknown,
            None => Self::None,
        }
    }
}

fn created(now: &HistoryPeriod, before: Option<&HistoryPeriod>) -> Figure {
    let per_minute = |period: &HistoryPeriod| period.totals.created as f64 / period.minutes();
    // More or fewer jobs are neither good nor bad.
    let change = Change::of(Some(per_minute(now)), before.map(per_minute), false).neutral();
    Figure { name: "Created", value: rate(per_minute(now)), change, href: "/ui/types" }
}

fn success(now: &HistoryPeriod, before: Option<&HistoryPeriod>) -> Figure {
    let percent = |period: &HistoryPeriod| period.totals.failure_rate().map(|rate| (1.0 - rate) * 100.0);
    let value = percent(now).map_or_else(|| "–".to_owned(), |percent| format!("{percent:.1} %"));
    let change = match percent(now).zip(before.and_then(percent)).map(|(now, before)| now - before) {
        None => Change::Unknown,
        Some(points) if points.abs() < 0.05 => Change::None,
        Some(points) => {
            let text = signed(&format!("{:.1} points", points.abs()), points > 0.0);
            if points > 0.0 { Change::Better(text) } else { Change::Worse(text) }
        }
    };
    Figure { name: "Success", value, change, href: "/ui/errors" }
}

fn wait(now: &HistoryPeriod, before: Option<&HistoryPeriod>) -> Figure {
    let p95 = |period: &HistoryPeriod| span_percentiles(&period.totals.wait).p95;
    let value = p95(now).map_or_else(|| "–".to_owned(), |ms| span(Millis(ms)));
    let ms = |period: &HistoryPeriod| p95(period).map(|ms| ms as f64);
    let change = Change::of(ms(now), before.and_then(ms), true);
    Figure { name: "Wait p95", value, change, href: "/ui/types?sort=wait" }
}

/// Now, against the last minutes of the period before.
fn backlog(snapshot: &Snapshot, history: &History) -> Figure {
    let ready: u64 = snapshot.queues.iter().map(|queue| queue.ready).sum();
    let change = match history.previous.as_ref().and_then(|before| before.steps.last()) {
        None => Change::Unknown,
        Some(last) if last.backlog == ready => Change::None,
        Some(last) => {
            let text = signed(&count(ready.abs_diff(last.backlog)), ready > last.backlog);
            if ready > last.backlog { Change::Worse(text) } else { Change::Better(text) }
        }
    };
    Figure { name: "Backlog", value: count(ready), change, href: "/ui/queues" }
}

/// `+12 %` and whether it grew. `None` without a difference or a base.
fn change(now: f64, before: f64) -> Option<(String, bool)> {
    let percent = (now - before) / before * 100.0;
    (before > 0.0 && percent.abs() >= 0.5)
        .then(|| (signed(&format!("{:.0} %", percent.abs()), now > before), now > before))
}

/// With a sign that screen readers say.
fn signed(number: &str, is_more: bool) -> String {
    format!("{}{number}", if is_more { "+" } else { "−" })
}

/// `0.2/min`, `118/min`, `12k/min`.
pub(crate) fn rate(per_minute: f64) -> String {
    // Rates are sums of differences: a rounding error must not become "-0.0".
    let per_minute = if per_minute.abs() < 0.05 { 0.0 } else { per_minute };
    match per_minute {
        0.0 => "0/min".to_owned(),
        few if few < 9.95 => format!("{few:.1}/min"),
        some if some < 9_999.5 => format!("{some:.0}/min"),
        many => format!("{:.0}k/min", many / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_short() {
        let shown = [0.0, -0.0, -0.01, 0.25, 9.94, 118.2, 9_999.0, 12_345.0, 999_000.0].map(rate);
        let expected =
            ["0/min", "0/min", "0/min", "0.2/min", "9.9/min", "118/min", "9999/min", "12k/min", "999k/min"];
        assert_eq!(shown, expected);
        assert!(shown.iter().all(|text| text.len() <= 9));
    }

    #[test]
    fn a_change_is_better_or_worse_or_unknown() {
        assert_eq!(Change::of(Some(150.0), Some(100.0), true), Change::Worse("+50 %".to_owned()));
        assert_eq!(Change::of(Some(150.0), Some(100.0), false), Change::Better("+50 %".to_owned()));
        assert_eq!(Change::of(Some(50.0), Some(100.0), true), Change::Better("−50 %".to_owned()));
        assert_eq!(Change::of(Some(5.0), Some(5.0), true), Change::None);
        let unknown = [(None, Some(1.0)), (Some(1.0), None), (Some(1.0), Some(0.0))];
        assert!(unknown.into_iter().all(|(now, before)| Change::of(now, before, true) == Change::Unknown));
    }

    #[test]
    fn a_change_has_a_sign_and_a_base() {
        assert_eq!(change(150.0, 100.0), Some(("+50 %".to_owned(), true)));
        assert_eq!(change(50.0, 100.0), Some(("−50 %".to_owned(), false)));
        assert_eq!([change(5.0, 0.0), change(100.0, 100.0)], [None, None]);
    }
}
