//! Spans of time as the protocol writes them: `500ms`, `2s`, `1m 30s`.

use std::time::Duration;

const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Reads a span; none if it is not one.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let mut total: u64 = 0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, tail) = rest.split_at(digits);
        let length = tail.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(length);
        let (_, unit_ms) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(*unit_ms)?)?;
        rest = tail.trim_start();
    }
    Some(Duration::from_millis(total))
}

/// Writes a span in milliseconds, rounded up so that a wait is never cut short.
pub(crate) fn text(span: Duration) -> String {
    format!("{}ms", span.as_nanos().div_ceil(1_000_000))
}

/// For fields that may hold a span.
pub(crate) mod option {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, de::Error};

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
        let Some(text) = Option::<String>::deserialize(input)? else { return Ok(None) };
        super::parse(&text).map(Some).ok_or_else(|| D::Error::custom(format!("{text:?} is no span of time")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_written() {
        let ms = |text| parse(text).map(|span| span.as_millis());
        assert_eq!(ms("500ms"), Some(500));
        assert_eq!(ms("2s"), Some(2000));
        assert_eq!(ms("1m 30s"), Some(90_000));
        assert_eq!(ms("1h30m"), Some(5_400_000));
        for wrong in ["", "5", "s", "5 parsecs", "-1s", "99999999999999999999s"] {
            assert_eq!(ms(wrong), None, "{wrong}");
        }
        assert_eq!(text(Duration::from_secs(20)), "20000ms");
        assert_eq!(text(Duration::from_micros(1)), "1ms");
    }
}
