//! The `Range` header, with a single range.

use std::ops::Range;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestedRange {
    /// No range, or an unsupported one, which RFC 9110 says to ignore.
    All,
    /// At least one byte.
    Part(Range<u64>),
    /// Beyond the content.
    Unsatisfiable,
}

/// Reads the header for a content of `size` bytes.
pub fn requested_range(header: Option<&str>, size: u64) -> RequestedRange {
    let Some((first, last)) = header.and_then(|text| text.strip_prefix("bytes=")?.split_once('-')) else {
        return RequestedRange::All;
    };
    let range = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(size),
        (Some(first), None) if last.is_empty() => first..size,
        (None, Some(count)) if first.is_empty() => size.saturating_sub(count)..size,
        _ => return RequestedRange::All,
    };
    if range.is_empty() { RequestedRange::Unsatisfiable } else { RequestedRange::Part(range) }
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_to_the_content() {
        for (header, found) in [
            ("bytes=0-0", RequestedRange::Part(0..1)),
            ("bytes=2-4", RequestedRange::Part(2..5)),
            ("bytes=5-", RequestedRange::Part(5..10)),
            ("bytes=5-99", RequestedRange::Part(5..10)),
            ("bytes=-3", RequestedRange::Part(7..10)),
            ("bytes=-99", RequestedRange::Part(0..10)),
            ("bytes=10-", RequestedRange::Unsatisfiable),
            ("bytes=99-100", RequestedRange::Unsatisfiable),
            ("bytes=-0", RequestedRange::Unsatisfiable),
            ("bytes=4-2", RequestedRange::All),
            ("bytes=0-1,4-5", RequestedRange::All),
            ("bytes=-", RequestedRange::All),
            ("bytes=+1-2", RequestedRange::All),
            ("bytes=a-b", RequestedRange::All),
            ("lines=1-2", RequestedRange::All),
            ("bytes=18446744073709551616-", RequestedRange::All),
            ("bytes=0-18446744073709551615", RequestedRange::Part(0..10)),
        ] {
            assert_eq!(requested_range(Some(header), 10), found, "{header}");
        }
        assert_eq!(requested_range(None, 10), RequestedRange::All);
        assert_eq!(requested_range(Some("bytes=0-"), 0), RequestedRange::Unsatisfiable);
    }
}
