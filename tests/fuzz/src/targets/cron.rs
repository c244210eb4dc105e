//! Cron expressions: a line each for the expression, the time zone and a time. Times increase, are whole minutes, and match
//! the expression by an independent reading of it; the times of a span are the same however they are found.

use tenure_core::time::Timestamp;
use tenure_runtime::cron::Cron;

const MINUTE_MS: i64 = 60_000;
const DAY_MINUTES: i64 = 24 * 60;
/// Times that are compared.
const TIMES: usize = 8;
/// The year 2000.
const START_MS: i64 = 946_684_800_000;
/// A hundred years.
const SPAN_MS: i64 = 100 * 365 * DAY_MINUTES * MINUTE_MS;

pub(super) fn check(input: &[u8]) {
    let Some(text) = super::text(input) else { return };
    let (expression, rest) = super::first_line(text);
    let (zone, after) = super::first_line(rest);
    let zone = if zone.is_empty() { "UTC" } else { zone };
    let after = Timestamp::parse(after).unwrap_or(Timestamp(START_MS));
    let after = Timestamp(START_MS + (after.0 - START_MS).rem_euclid(SPAN_MS));
    let Ok(cron) = Cron::parse(expression, zone) else { return };
    assert!(!cron.describe().is_empty());
    let times = times(&cron, after);
    let words: Vec<&str> = expression.split_ascii_whitespace().collect();
    let plain = Cron::parse(&words.join(" "), zone).expect("white space has no meaning");
    assert_eq!(self::times(&plain, after), times, "with other white space");
    check_between(&cron, &times);
    if let Some(fields) = Fields::parse(&words).filter(|_| zone == "UTC") {
        check_fields(&fields, after, &times);
    }
}

fn times(cron: &Cron, after: Timestamp) -> Vec<Timestamp> {
    let (mut found, mut last) = (Vec::new(), after);
    while found.len() < TIMES
        && let Some(next) = cron.next(last)
    {
        assert!(next > last, "{next} does not follow {last}");
        assert_eq!(next.0 % MINUTE_MS, 0, "{next} is not a whole minute");
        found.push(next);
        last = next;
    }
    found
}

/// The times of a span are those that were found one by one.
fn check_between(cron: &Cron, times: &[Timestamp]) {
    let ([first, .., last], true) = (times, times.len() == TIMES) else { return };
    // A search in a span of years visits each of its minutes.
    if last.0 - first.0 > 31 * DAY_MINUTES * MINUTE_MS {
        return;
    }
    for max in [1, 3, TIMES, 100] {
        let expected = &times[times.len().saturating_sub(max)..];
        assert_eq!(cron.between(*first, *last, max), expected, "the last {max}");
        assert_eq!(cron.between(*first, Timestamp(last.0 + 1), max), expected, "the last {max}, later");
    }
}

/// The values that each field allows; only for expressions of numbers, `*`, ranges, steps and lists.
struct Fields([Vec<u32>; 5]);

impl Fields {
    /// `None` for what is not read here: names, `L`, `W`, `#`, and a day of the month together with a day of the week.
    fn parse(words: &[&str]) -> Option<Self> {
        let [minute, hour, day, month, weekday] = words else { return None };
        if *day != "*" && *weekday != "*" {
            return None;
        }
        let mut days: Vec<u32> = values(weekday, 0, 7)?.into_iter().map(|day| day % 7).collect();
        days.sort_unstable();
        Some(Self([
            values(minute, 0, 59)?,
            values(hour, 0, 23)?,
            values(day, 1, 31)?,
            values(month, 1, 12)?,
            days,
        ]))
    }

    /// Whether a minute since 1970 in UTC matches.
    fn admits(&self, minute: i64) -> bool {
        let (day, of_day) = (minute.div_euclid(DAY_MINUTES), minute.rem_euclid(DAY_MINUTES));
        let (month, of_month) = month_and_day(day);
        let found = [of_day % 60, of_day / 60, of_month, month, (day + 4).rem_euclid(7)];
        self.0.iter().zip(found).all(|(allowed, value)| allowed.contains(&(value as u32)))
    }
}

/// The values of one field.
fn values(field: &str, low: u32, high: u32) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    for part in field.split(',') {
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        let (begin, end) = match range.split_once('-') {
            _ if range == "*" => (low, high),
            Some((begin, end)) => (number(begin)?, number(end)?),
            None if part == range => (number(range)?, number(range)?),
            // A step from one value on has different meanings in different programs.
            None => return None,
        };
        let step = number(step).filter(|step| *step > 0)?;
        if begin > end || begin < low || end > high {
            return None;
        }
        found.extend((begin..=end).step_by(step as usize));
    }
    Some(found)
}

fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The month and the day of the month of a day since 1970 (Hinnant's algorithm).
fn month_and_day(day: i64) -> (i64, i64) {
    let shifted = day + 719_468;
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let part = (5 * of_year + 2) / 153;
    (if part < 10 { part + 3 } else { part - 9 }, of_year - (153 * part + 2) / 5 + 1)
}

/// Each time matches, and no minute of the first two days before it does.
fn check_fields(fields: &Fields, after: Timestamp, times: &[Timestamp]) {
    let mut minute = after.0.div_euclid(MINUTE_MS) + 1;
    let last = minute + 2 * DAY_MINUTES;
    let mut times = times.iter();
    let Some(mut next) = times.next() else {
        let found = (minute..last).find(|minute| fields.admits(*minute));
        assert_eq!(found, None, "there is no time, and this minute matches");
        return;
    };
    while minute < last {
        let expected = next.0 == minute * MINUTE_MS;
        assert_eq!(
            fields.admits(minute),
            expected,
            "minute {}, next time {next}",
            Timestamp(minute * MINUTE_MS)
        );
        if expected {
            let Some(following) = times.next() else { return };
            next = following;
        }
        minute += 1;
    }
    assert!(fields.admits(next.0 / MINUTE_MS), "{next} does not match");
}
