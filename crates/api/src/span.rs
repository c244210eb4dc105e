//! Durations as the protocol writes them: `500ms`, `2s`, `1m 30s`.

use std::time::Duration;

use tenure_core::time::Millis;

/// Reads a duration; `None` if the text is not one. Parts are separated by spaces or by nothing, as the schema `Span` says:
/// configuration files may also contain other white space.
pub fn parse(text: &str) -> Option<Duration> {
    let is_plain = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_alphanumeric());
    Millis::parse(text).filter(|_| is_plain).map(|span| Duration::from_millis(span.0))
}

/// Writes a duration in milliseconds, rounded up so that a wait is never shortened.
pub fn text(span: Duration) -> String {
    format!("{}ms", span.as_nanos().div_ceil(1_000_000))
}

/// For fields that may hold a duration.
pub(crate) mod option {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[allow(clippy::ref_option, reason = "the signature that serde calls")]
    pub(crate) fn serialize<S: Serializer>(span: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        match span {
            Some(span) => to.collect_str(&super::Millis(span.as_millis() as u64)),
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
        let shown = [0, 90_000, 1500].map(|ms| Millis(ms).to_string());
        assert_eq!(shown, ["0s", "1m 30s", "1s 500ms"]);
    }
}
