//! Cron expressions in a time zone: next times, and a description in words.
//!
//! When daylight saving time starts or ends, an expression with one fixed time of day fires once on that day, at the first
//! moment after a skipped time; one that repeats within the day fires at each hour that elapses.

use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;

use crate::prelude::*;

const CRON_BYTES_MAX: usize = 256;

/// An expression of five fields, in a time zone.
#[derive(Clone, Debug)]
pub struct Cron {
    cron: croner::Cron,
    zone: TimeZone,
}

impl Cron {
    /// Reads an expression and the name of a time zone.
    pub fn parse(cron: &str, timezone: &str) -> Result<Self, Refusal> {
        let flaw = |detail: String| Refusal::invalid("#/cron", detail);
        if cron.len() > CRON_BYTES_MAX {
            return Err(flaw(format!("is longer than {CRON_BYTES_MAX} bytes")));
        }
        let fields = cron.split_ascii_whitespace().count();
        if fields != 5 {
            let words = "minute, hour, day of the month, month, day of the week";
            return Err(flaw(format!("must have five fields ({words}), not {fields}")));
        }
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser.parse(cron).map_err(|error| flaw(format!("cannot be read: {error}")))?;
        let unknown = |_| Refusal::invalid("#/timezone", format!("there is no time zone {timezone:?}"));
        Ok(Self { cron, zone: TimeZone::get(timezone).map_err(unknown)? })
    }

    /// The first time after `after`; `None` if there is none.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let after = jiff::Timestamp::from_millisecond(after.0).ok()?.to_zoned(self.zone.clone());
        let next = self.cron.find_next_occurrence(&after, false).ok()?;
        Some(Timestamp(next.timestamp().as_millisecond()))
    }

    /// The times from `first`, which is one of them, up to `now`: the last `max` of them, in order.
    pub fn between(&self, first: Timestamp, now: Timestamp, max: usize) -> Vec<Timestamp> {
        // Search from one hour back, then further, instead of iterating over a long outage from its start.
        let mut back = 3_600_000;
        loop {
            let from = now.0 - back;
            let start = if from <= first.0 { first } else { Timestamp(from) };
            let mut found: Vec<Timestamp> = if start == first { vec![first] } else { Vec::new() };
            let mut at = start;
            while let Some(next) = self.next(at).filter(|next| *next <= now) {
                found.push(next);
                at = next;
            }
            if start == first || found.len() >= max {
                return found.split_off(found.len().saturating_sub(max));
            }
            back *= 4;
        }
    }

    pub fn describe(&self) -> String {
        self.cron.describe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn times(cron: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let cron = Cron::parse(cron, zone).unwrap();
        let mut last = at(after);
        let next = |_| {
            last = cron.next(last).unwrap();
            last.to_string()
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn a_fixed_time_comes_once_on_the_night_when_clocks_are_put_forward() {
        let nights = times("30 2 * * *", "America/New_York", "2027-03-12T12:00:00Z", 3);
        // The 14th has no half past two: the first moment after the hour that is left out stands for it.
        let expected = ["2027-03-13T07:30:00.000Z", "2027-03-14T07:00:00.000Z", "2027-03-15T06:30:00.000Z"];
        assert_eq!(nights, expected);
    }

    #[test]
    fn a_fixed_time_comes_once_on_the_night_when_clocks_are_put_back() {
        let nights = times("30 1 * * *", "America/New_York", "2027-11-06T00:00:00Z", 3);
        let expected = ["2027-11-06T05:30:00.000Z", "2027-11-07T05:30:00.000Z", "2027-11-08T06:30:00.000Z"];
        assert_eq!(nights, expected);
        let berlin = times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2);
        assert_eq!(berlin, ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"]);
    }

    #[test]
    fn what_repeats_within_the_day_comes_at_each_hour_that_passes() {
        for (after, hours) in [("2027-03-14T05:30:00Z", 6..9), ("2027-11-07T03:30:00Z", 4..9)] {
            let date = &after[..10];
            let expected: Vec<_> = hours.map(|hour| format!("{date}T{hour:02}:00:00.000Z")).collect();
            assert_eq!(times("0 * * * *", "America/New_York", after, expected.len()), expected);
        }
    }

    #[test]
    fn what_is_not_an_expression_is_refused_with_its_place() {
        let long = format!("{} * * * *", "1,".repeat(2500));
        let cases =
            ["", "* * * *", "0 0 * * * *", "0 0 1 1 * 2030", "@daily", "61 * * * *", "a b c d e", &long];
        let cases = cases.map(|cron| (cron, "UTC", "#/cron"));
        let zones = ["Mars/Olympus", "", "../../etc/passwd"].map(|zone| ("0 0 * * *", zone, "#/timezone"));
        for (cron, zone, place) in cases.into_iter().chain(zones) {
            let Err(Refusal::ValidationFailed(flaws)) = Cron::parse(cron, zone) else {
                panic!("{cron:?} in {zone:?} was taken")
            };
            assert_eq!(flaws[0].pointer, place, "{cron:?} in {zone:?}");
        }
    }

    #[test]
    fn what_never_comes_has_no_next_time() {
        assert_eq!(Cron::parse("0 0 30 2 *", "UTC").unwrap().next(at("2026-01-01T00:00:00Z")), None);
    }

    #[test]
    fn the_last_times_of_a_span_are_found_without_walking_through_all_of_it() {
        let minutes = Cron::parse("* * * * *", "UTC").unwrap();
        let (first, now) = (at("2020-01-01T00:00:00Z"), at("2026-01-01T00:00:30Z"));
        let last = minutes.between(first, now, 100);
        let expected = (100, at("2025-12-31T22:21:00Z"), at("2026-01-01T00:00:00Z"));
        assert_eq!((last.len(), last[0], last[99]), expected);
        let days = Cron::parse("0 6 * * *", "UTC").unwrap();
        let found = days.between(at("2026-01-01T06:00:00Z"), at("2026-01-03T07:00:00Z"), 100);
        let expected = ["2026-01-01", "2026-01-02", "2026-01-03"].map(|day| at(&format!("{day}T06:00:00Z")));
        assert_eq!(found, expected);
    }
}
