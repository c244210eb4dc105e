//! Time as numbers. Core has no clock: the store reads it and passes [`Now`].
//!
//! There are two kinds of time. A [`Timestamp`] is calendar time. A [`Deadline`] counts only the time in which Tenure ran
//! and its store was available, so that an outage postpones every lease, timeout, grace and due time without touching a
//! row.

use std::fmt;
use std::ops::{Add, Sub};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since 1970, UTC. Text form: RFC 3339 with milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// A duration in milliseconds. Text form: `500ms`, `2s`, `1h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

/// A time on the clock that pauses during outages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Deadline(pub i64);

/// A reading of the store's clock: the time, and the total of all outages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Calendar time.
    pub at: Timestamp,
    /// All outages so far.
    pub stopped: Millis,
}

impl Now {
    /// The present on the clock that pauses during outages.
    pub fn running(self) -> Deadline {
        Deadline(self.at.0 - self.stopped.0 as i64)
    }

    /// The calendar time of `deadline` if there is no further outage.
    pub fn calendar(self, deadline: Deadline) -> Timestamp {
        Timestamp(deadline.0 + self.stopped.0 as i64)
    }

    #[must_use]
    pub fn with(self, at: Timestamp) -> Self {
        Self { at, ..self }
    }
}

impl Timestamp {
    /// The `run_at` of a job that cannot be claimed in its state: the year 10000, which no caller can ask for.
    pub const NEVER: Self = Self(253_402_300_800_000);

    /// The start of the UTC minute.
    #[must_use]
    pub fn minute(self) -> i64 {
        self.0.div_euclid(60_000)
    }

    /// Whether it has a year that callers can ask for and that can be written: 1970 to 9999.
    pub fn is_writable(self) -> bool {
        (0..Self::NEVER.0).contains(&self.0)
    }

    /// Parses RFC 3339. `None` for anything else, years outside 1970 to 9999, and leap seconds.
    pub fn parse(text: &str) -> Option<Self> {
        let b = text.as_bytes();
        let digits = |from: usize, to: usize| -> Option<i64> {
            let part = b.get(from..to)?;
            part.iter().try_fold(0, |n, d| d.is_ascii_digit().then(|| n * 10 + i64::from(d - b'0')))
        };
        let punctuated = b.len() >= 20
            && b[4] == b'-'
            && b[7] == b'-'
            && matches!(b[10], b'T' | b't')
            && b[13] == b':'
            && b[16] == b':';
        if !punctuated {
            return None;
        }
        let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
        let (hour, minute, second) = (digits(11, 13)?, digits(14, 16)?, digits(17, 19)?);
        let leap_day = i64::from(month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
        let days = *[31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].get(usize::try_from(month - 1).ok()?)?;
        if year < 1970 || day < 1 || day > days + leap_day || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let (millis, rest) = fraction(&b[19..])?;
        let offset_minutes = offset(rest)?;
        let seconds = days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
        let ms = (seconds - offset_minutes * 60) * 1000 + millis;
        // The offset may lead out of these years.
        Some(Self(ms)).filter(|time| time.is_writable())
    }
}

/// The milliseconds of `.123456`, and the rest.
fn fraction(tail: &[u8]) -> Option<(i64, &[u8])> {
    let Some(digits) = tail.strip_prefix(b".") else { return Some((0, tail)) };
    let length = digits.iter().take_while(|d| d.is_ascii_digit()).count();
    if length == 0 || length > 9 {
        return None;
    }
    let millis = (0..3).fold(0, |n, i| n * 10 + if i < length { i64::from(digits[i] - b'0') } else { 0 });
    Some((millis, &digits[length..]))
}

/// The minutes of `Z` or `+02:00`.
fn offset(tail: &[u8]) -> Option<i64> {
    match tail {
        b"Z" | b"z" => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2]
            if [h1, h2, m1, m2].iter().all(|d| d.is_ascii_digit()) =>
        {
            let (hours, minutes) = (
                i64::from(h1 - b'0') * 10 + i64::from(h2 - b'0'),
                i64::from(m1 - b'0') * 10 + i64::from(m2 - b'0'),
            );
            let total = hours * 60 + minutes;
            (hours < 24 && minutes < 60).then_some(if *sign == b'+' { total } else { -total })
        }
        _ => None,
    }
}

/// Days since 1970 of a date of the proleptic Gregorian calendar (Hinnant's algorithm).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let year_of_era = y.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The date of a day since 1970: the inverse of [`days_from_civil`].
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

impl Timestamp {
    /// `2026-11-16T04:05:37.995Z`. Formatted by hand because every answer contains many timestamps.
    fn written(self) -> [u8; 24] {
        let (year, month, day) = civil_from_days(self.0.div_euclid(86_400_000));
        let of_day = self.0.rem_euclid(86_400_000);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let parts = [
            (0, 4, year),
            (5, 2, month),
            (8, 2, day),
            (11, 2, of_day / 3_600_000),
            (14, 2, of_day / 60_000 % 60),
            (17, 2, of_day / 1000 % 60),
            (20, 3, of_day % 1000),
        ];
        for (start, digits, mut number) in parts {
            for place in (start..start + digits).rev() {
                text[place] = b'0' + (number % 10) as u8;
                number /= 10;
            }
        }
        text
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.written()).expect("digits and marks"))
    }
}

const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

impl Millis {
    pub const fn seconds(seconds: u64) -> Self {
        Self(seconds * 1000)
    }

    /// Parses `500ms`, `2s`, `10m`, `1h`, `3d`, and sums such as `1m 30s`. `None` for anything else, or over 100 years.
    pub fn parse(text: &str) -> Option<Self> {
        let mut total: u64 = 0;
        let mut parts = 0;
        let mut rest = text.trim();
        while !rest.is_empty() {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let number: u64 = rest[..digits].parse().ok()?;
            let unit_text = rest[digits..].trim_start();
            let length =
                unit_text.len() - unit_text.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
            let (_, unit_ms) = UNITS.iter().find(|(unit, _)| *unit == &unit_text[..length])?;
            total = total.checked_add(number.checked_mul(*unit_ms)?)?;
            rest = unit_text[length..].trim_start();
            parts += 1;
        }
        (parts > 0 && total <= crate::limits::SPAN_MS_MAX).then_some(Self(total))
    }
}

impl fmt::Display for Millis {
    /// In the largest units that are exact: `90s` is `1m 30s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        let mut space = "";
        for (unit, unit_ms) in UNITS {
            let count = rest / unit_ms;
            if count > 0 {
                write!(f, "{space}{count}{unit}")?;
                space = " ";
                rest -= count * unit_ms;
            }
        }
        Ok(())
    }
}

/// Adds a span to a time, and subtracts times.
macro_rules! arithmetic {
    ($($time:ident)+) => {$(
        impl Add<Millis> for $time {
            type Output = Self;
            fn add(self, span: Millis) -> Self {
                Self(self.0.saturating_add_unsigned(span.0))
            }
        }

        impl Sub for $time {
            type Output = Millis;
            /// The time since `earlier`; zero if it is not earlier.
            fn sub(self, earlier: Self) -> Millis {
                Millis(self.0.saturating_sub(earlier.0).max(0) as u64)
            }
        }
    )+};
}

arithmetic! { Timestamp Deadline }

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(std::str::from_utf8(&self.written()).expect("digits and marks"))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is not an RFC 3339 time")))
    }
}

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        Self::parse(&text)
            .ok_or_else(|| D::Error::custom(format!("`{text}` is not a duration such as \"30s\"")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written_as_rfc_3339() {
        for text in ["1970-01-01T00:00:00.000Z", "2024-02-29T23:59:59.999Z", "9999-12-31T00:00:00.001Z"] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            Timestamp::parse("2026-11-16T02:00:00.5+02:00"),
            Timestamp::parse("2026-11-16T00:00:00.500Z")
        );
    }

    #[test]
    fn what_is_not_a_time_is_refused() {
        for text in [
            "",
            "now",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00",
            "1969-12-31T23:59:59Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+25:00",
            "9999-12-31T23:59:59-00:01",
            "1970-01-01T00:00:00+00:01",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn spans_are_read_and_written_with_units() {
        for (text, ms) in
            [("500ms", 500), ("2s", 2000), ("1h", 3_600_000), ("1m 30s", 90_000), ("3d", 259_200_000)]
        {
            assert_eq!(Millis::parse(text), Some(Millis(ms)));
            assert_eq!(Millis(ms).to_string(), text);
        }
        for text in ["", "10", "s", "10 sekunden", "-1s", "1.5s", "99999999999999999999s", "999999d"] {
            assert_eq!(Millis::parse(text), None, "{text}");
        }
    }

    #[test]
    fn an_outage_moves_deadlines_and_not_the_calendar() {
        let before = Now { at: Timestamp(10_000), stopped: Millis(0) };
        let deadline = before.running() + Millis(5_000);
        let after = Now { at: Timestamp(100_000), stopped: Millis(80_000) };
        assert!(after.running() > deadline, "15 s of running time have passed");
        assert_eq!(after.calendar(deadline), Timestamp(95_000));
    }
}
