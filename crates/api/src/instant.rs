//! Times as the protocol writes them: RFC 3339 in UTC with milliseconds.

use std::time::{SystemTime, UNIX_EPOCH};

/// Writes a time; one before 1970 becomes the beginning of 1970.
pub fn text(moment: SystemTime) -> String {
    let ms = moment.duration_since(UNIX_EPOCH).map_or(0, |span| span.as_millis());
    let (days, in_day) = ((ms / 86_400_000) as i64, ms % 86_400_000);
    let (year, month, day) = civil(days);
    let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
    let (second, milli) = (in_day / 1000 % 60, in_day % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Reads a time in UTC as milliseconds since 1970; `None` if the text is not one.
pub fn millis(text: &str) -> Option<i64> {
    let clock = text.strip_suffix('Z')?;
    let (date, time) = clock.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.splitn(3, ':');
    let (hour, minute) = (time.next()?.parse::<i64>().ok()?, time.next()?.parse::<i64>().ok()?);
    let (second, fraction) = time.next().map(|part| part.split_once('.').unwrap_or((part, "0")))?;
    let second: i64 = second.parse().ok()?;
    let milli: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    Some((((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1000 + milli)
}

/// Days since 1970 of a date in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a day since 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_survive_writing_and_reading() {
        for ms in
            [0, 951_782_399_999, 951_782_400_000, 1_709_208_000_123, 1_794_787_200_000, 4_102_444_799_999_u64]
        {
            let written = text(UNIX_EPOCH + Duration::from_millis(ms));
            assert_eq!(millis(&written), Some(ms as i64), "{written}");
        }
        assert_eq!(text(UNIX_EPOCH + Duration::from_millis(1_709_208_000_123)), "2024-02-29T12:00:00.123Z");
        assert_eq!(millis("2024-02-29T12:00:00Z"), Some(1_709_208_000_000));
        for wrong in ["", "2024-02-29", "2024-02-29T12:00", "now", "2024-02-29T12:00:00+01:00"] {
            assert_eq!(millis(wrong), None, "{wrong}");
        }
    }
}
