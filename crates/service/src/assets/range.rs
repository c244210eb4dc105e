//! Which part of a content is asked for: the header `Range`, one part of it.

use std::ops::Range;

/// What a `Range` header comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// No range, or one that is not understood: RFC 9110 says that it is to be ignored.
    All,
    /// These bytes, at least one.
    Part(Range<u64>),
    /// Bytes that there are not.
    Nothing,
}

/// Reads a header for a content of `size` bytes. Several parts at once are not understood.
pub fn wanted(header: Option<&str>, size: u64) -> Wanted {
    let Some((first, last)) = header.and_then(|text| text.strip_prefix("bytes=")?.split_once('-')) else {
        return Wanted::All;
    };
    let range = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(size),
        (Some(first), None) if last.is_empty() => first..size,
        (None, Some(count)) if first.is_empty() => size.saturating_sub(count)..size,
        _ => return Wanted::All,
    };
    if range.is_empty() { Wanted::Nothing } else { Wanted::Part(range) }
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_to_what_there_is() {
        for (header, found) in [
            ("bytes=0-0", Wanted::Part(0..1)),
            ("bytes=2-4", Wanted::Part(2..5)),
            ("bytes=5-", Wanted::Part(5..10)),
            ("bytes=5-99", Wanted::Part(5..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-99", Wanted::Part(0..10)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=99-100", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=4-2", Wanted::All),
            ("bytes=0-1,4-5", Wanted::All),
            ("bytes=-", Wanted::All),
            ("bytes=+1-2", Wanted::All),
            ("bytes=a-b", Wanted::All),
            ("lines=1-2", Wanted::All),
            ("bytes=18446744073709551616-", Wanted::All),
            ("bytes=0-18446744073709551615", Wanted::Part(0..10)),
        ] {
            assert_eq!(wanted(Some(header), 10), found, "{header}");
        }
        assert_eq!(wanted(None, 10), Wanted::All);
        assert_eq!(wanted(Some("bytes=0-"), 0), Wanted::Nothing);
    }
}
