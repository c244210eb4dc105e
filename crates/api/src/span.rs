//! Durations as the protocol writes them: `500ms`, `2s`, `1m 30s`.

use std::fmt;
use std::time::Duration;

const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Reads a duration; `None` if the text is not one.
pub fn parse(text: &str) -> Option<Duration> {
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

/// Writes a duration in milliseconds, rounded up so that a wait is never shortened.
pub fn text(span: Duration) -> String {
    format!("{}ms", span.as_nanos().div_ceil(1_000_000))
}

/// Writes whole milliseconds in the largest units that express them exactly: 90 s is `1m 30s`.
struct Exact(u64);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let (mut rest, mut space) = (self.0, "");
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

/// For fields that may hold a duration.
pub(crate) mod option {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[allow(clippy::ref_option, reason = "the signature that serde calls")]
    pub(crate) fn serialize<S: Serializer>(span: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        match span {
            Some(span) => to.collect_str(&super::Exact(span.as_millis() as u64)),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
        super::parse(&text).map(Some).ok_or_else(|| D::Error::custom(format!("{text:?} is not a duration")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written() {
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
        let shown = [0, 90_000, 1500].map(|ms| Exact(ms).to_string());
        assert_eq!(shown, ["0s", "1m 30s", "1s 500ms"]);
    }
}
