//! The range of time of a page with its time zone: read from the address, and chosen by links and a form.

use tenure_service::query::{TIME_RANGES, time_range};
use tenure_stats::TimeRange;

use crate::prelude::*;

/// Ranges up to now that have a link: as in the address, and as shown.
const LINKED: [(&str, &str); 4] = [("1h", "1 h"), ("6h", "6 h"), ("24h", "24 h"), ("7d", "7 d")];
const DEFAULT: &str = "1h";
/// Zones of the form besides whole hours, in minutes ahead of UTC.
const PARTS_OF_HOURS: [i64; 8] = [-570, -210, 210, 270, 330, 345, 570, 630];

/// A zone with a fixed offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    /// Ahead of UTC.
    pub(crate) minutes: i64,
}

pub(crate) struct RangeChoice {
    /// The page, without a query.
    page: String,
    range: TimeRange,
    /// `1h`; `None` for a custom range.
    linked: Option<String>,
    pub(crate) zone: Zone,
}

impl Zone {
    /// `utc`, or an offset such as `+02:00`.
    fn parse(text: &str) -> Option<Self> {
        if text == "utc" {
            return Some(Self { minutes: 0 });
        }
        // A `+` that a link does not encode is read as a space.
        let (sign, rest) = match text.split_at_checked(1)? {
            ("+" | " ", rest) => (1, rest),
            ("-", rest) => (-1, rest),
            _ => return None,
        };
        let has_digits = rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
        let (hours, minutes) = rest.split_once(':').filter(|_| has_digits && rest.len() == 5)?;
        let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
        (hours <= 14 && minutes < 60)
            .then(|| Self { minutes: sign * (i64::from(hours) * 60 + i64::from(minutes)) })
    }

    /// As in an address.
    fn key(self) -> String {
        if self.minutes == 0 { "utc".to_owned() } else { self.offset() }
    }

    /// `+02:00`.
    fn offset(self) -> String {
        let (sign, minutes) = (if self.minutes < 0 { '-' } else { '+' }, self.minutes.abs());
        format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }

    /// `UTC`, or `UTC+02:00`.
    pub(crate) fn name(self) -> String {
        if self.minutes == 0 { "UTC".to_owned() } else { format!("UTC{}", self.offset()) }
    }

    /// `2026-11-18T14:05`, as fields of forms have it.
    fn local(self, at: Timestamp) -> String {
        let shifted = Timestamp(at.0.saturating_add(self.minutes * 60_000));
        shifted.to_string()[..16].to_owned()
    }

    /// `14:05`.
    pub(crate) fn time(self, at: Timestamp) -> String {
        self.local(at)[11..].to_owned()
    }

    /// `11-18 14:05`, and without the time at midnight if there is one day in a step.
    pub(crate) fn day(self, at: Timestamp, with_time: bool) -> String {
        let local = self.local(at);
        if with_time { format!("{} {}", &local[5..10], &local[11..]) } else { local[5..10].to_owned() }
    }

    /// A time of a form in this zone, or an RFC 3339 time.
    fn read(self, text: &str) -> Option<Timestamp> {
        let local = [format!("{text}Z"), format!("{text}:00Z")];
        let shifted = local.iter().find_map(|text| Timestamp::parse(text));
        let in_zone = shifted.map(|at| Timestamp(at.0 - self.minutes * 60_000));
        Timestamp::parse(text).or(in_zone).filter(|at| at.0 >= 0)
    }
}

impl RangeChoice {
    /// Reads `range`, or `from` and `until`, and `zone`. Fields that a form leaves empty are not given.
    pub(crate) fn read(page: impl Into<String>, params: &mut QueryParams) -> Result<Self> {
        params.drop_empty();
        let zone = params.read("zone", "utc or an offset such as +02:00", Zone::parse)?;
        let zone = zone.unwrap_or(Zone { minutes: 0 });
        let linked = params.read("range", TIME_RANGES, |text| Some((text.to_owned(), time_range(text)?)))?;
        let expected = "a time such as 2026-11-18T14:00";
        let from = params.read("from", expected, |text| zone.read(text))?;
        let until = params.read("until", expected, |text| zone.read(text))?;
        let (range, linked) = match (linked, from, until) {
            (Some((name, length)), None, None) => (TimeRange::Last(length), Some(name)),
            (None, None, None) => (TimeRange::Last(Millis::seconds(3600)), Some(DEFAULT.to_owned())),
            (None, Some(from), until) => {
                let until = until.unwrap_or(Timestamp(i64::MAX));
                if until <= from {
                    return Err(Problem::malformed("?until", "must be after from"));
                }
                (TimeRange::Between(from, until), None)
            }
            (Some(_), ..) => {
                return Err(Problem::malformed("?range", "must not be given together with a time"));
            }
            (None, None, Some(_)) => return Err(Problem::malformed("?until", "needs from")),
        };
        Ok(Self { page: page.into(), range, linked, zone })
    }

    /// The statistics of a series over the range.
    pub(crate) async fn history(&self, service: &Service, series: Series) -> Result<Arc<History>> {
        Ok(service.stats().history(series, self.range, self.zone.minutes).await?)
    }

    pub(crate) fn is_last_hour(&self) -> bool {
        self.linked.as_deref() == Some(DEFAULT)
    }

    /// `24 h`; `period` for a custom range.
    pub(crate) fn name(&self) -> &str {
        let Some(linked) = &self.linked else { return "period" };
        LINKED.iter().find(|(range, _)| *range == linked.as_str()).map_or(linked.as_str(), |(_, name)| *name)
    }

    fn address(&self, range: &str, zone: &str) -> String {
        let zone = if zone == "utc" { String::new() } else { format!("&zone={}", encode(zone)) };
        format!("{}?{range}{zone}", self.page)
    }

    /// The range in an address.
    fn query(&self) -> String {
        match (self.range, &self.linked) {
            (_, Some(linked)) => format!("range={linked}"),
            (TimeRange::Between(from, until), None) if until.0 < i64::MAX => {
                format!("from={}&until={}", encode(&self.zone.local(from)), encode(&self.zone.local(until)))
            }
            (TimeRange::Between(from, _), None) => format!("from={}", encode(&self.zone.local(from))),
            (TimeRange::Last(_), None) => unreachable!("a range up to now has a name"),
        }
    }

    /// Links to ranges, a form for others, and the zone.
    pub(crate) fn bar(&self) -> Markup {
        let zone = self.zone.key();
        let is_linked = |range: &str| self.linked.as_deref() == Some(range);
        html! {
            div.ranges {
                nav aria-label="Time range" {
                    @for (range, name) in LINKED {
                        a href=(self.address(&format!("range={range}"), &zone)) aria-current=[is_linked(range).then_some("true")] { (name) }
                    }
                }
                details open[self.linked.is_none()] {
                    summary { "Custom" }
                    (self.form())
                }
                span.quiet data-zone=(self.zone.offset()) { "Times in " (self.zone.name()) }
                @if self.zone.minutes != 0 { a href=(self.address(&self.query(), "utc")) { "Show UTC" } }
                // The script sets the offset of the browser.
                a data-local=(self.address(&self.query(), "+00:00")) hidden { "Show local time" }
            }
        }
    }

    fn form(&self) -> Markup {
        let (from, until) = match self.range {
            TimeRange::Between(from, until) => (
                Some(self.zone.local(from)),
                Some(until).filter(|until| until.0 < i64::MAX).map(|until| self.zone.local(until)),
            ),
            TimeRange::Last(_) => (None, None),
        };
        let mut zones: Vec<i64> = (-12..=14).map(|hours| hours * 60).chain(PARTS_OF_HOURS).collect();
        zones.push(self.zone.minutes);
        zones.sort_unstable();
        zones.dedup();
        html! {
            form.filters action=(self.page) {
                label { "From" input type="datetime-local" name="from" value=[from] required; }
                label { "Until" input type="datetime-local" name="until" value=[until]; }
                label { "Time zone"
                    select name="zone" {
                        @for zone in zones.into_iter().map(|minutes| Zone { minutes }) {
                            option value=(zone.key()) selected[zone == self.zone] { (zone.name()) }
                        }
                    }
                }
                button type="submit" { "Show" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_utc_or_an_offset() {
        for (text, minutes) in
            [("utc", 0), ("+02:00", 120), (" 02:00", 120), ("-03:30", -210), ("+14:00", 840)]
        {
            assert_eq!(Zone::parse(text), Some(Zone { minutes }), "{text}");
        }
        for text in ["", "UTC", "+2", "+02:60", "+15:00", "02:00", "+0200", "+é:00", "+-1:00", "++1:00"] {
            assert_eq!(Zone::parse(text), None, "{text}");
        }
        assert_eq!(Zone { minutes: -210 }.name(), "UTC-03:30");
        assert_eq!(Zone::parse(&Zone { minutes: 0 }.key()), Some(Zone { minutes: 0 }));
    }

    #[test]
    fn times_are_read_and_shown_in_their_zone() {
        let (utc, india) = (Zone { minutes: 0 }, Zone { minutes: 330 });
        let at = Timestamp::parse("2026-11-18T20:05:00Z").unwrap();
        assert_eq!(india.read("2026-11-19T01:35"), Some(at));
        assert_eq!(india.read("2026-11-19T01:35:00"), Some(at));
        assert_eq!(india.read("2026-11-18T20:05:00Z"), Some(at), "with its zone");
        assert_eq!((utc.time(at), india.time(at)), ("20:05".to_owned(), "01:35".to_owned()));
        assert_eq!((utc.day(at, false), india.day(at, true)), ("11-18".to_owned(), "11-19 01:35".to_owned()));
        for text in ["", "yesterday", "2026-11-19", "2026-13-01T00:00", "1970-01-01T00:00"] {
            assert_eq!(india.read(text), None, "{text}");
        }
    }
}
