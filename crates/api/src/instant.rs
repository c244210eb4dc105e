//! Times as the protocol writes them: RFC 3339 in UTC with milliseconds.

use std::time::{SystemTime, UNIX_EPOCH};

use tenure_core::time::Timestamp;

/// Writes a time; one before 1970 becomes the beginning of 1970.
pub fn text(moment: SystemTime) -> String {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_millis() as i64).to_string()
}

/// Reads a time as milliseconds since 1970; `None` if the text is not one.
pub fn millis(text: &str) -> Option<i64> {
    Timestamp::parse(text).map(|time| time.0)
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
        assert_eq!(millis("2024-02-29T13:00:00+01:00"), Some(1_709_208_000_000));
        for wrong in ["", "2024-02-29", "2024-02-29T12:00", "now"] {
            assert_eq!(millis(wrong), None, "{wrong}");
        }
    }
}
