//! Sizes in bytes: `1 MiB`, `512KiB`, `16 MB`, `4096`.

use std::fmt;

/// A number of bytes, printed in the largest unit that divides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size(pub(crate) usize);

const UNITS: [(&str, usize); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1000),
    ("B", 1),
];

impl Size {
    /// Parses a number and a unit in any case; a bare number is bytes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: usize = text[..digits].parse().ok()?;
        let unit = text[digits..].trim_start();
        if unit.is_empty() {
            return Some(Self(number));
        }
        let (_, bytes) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
        number.checked_mul(*bytes).map(Self)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = UNITS.iter().filter(|(_, bytes)| self.0 > 0 && self.0.is_multiple_of(*bytes));
        let (unit, bytes) = exact.max_by_key(|(_, bytes)| bytes).unwrap_or(&("B", 1));
        write!(f, "{} {unit}", self.0 / bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_and_printed_with_units() {
        for (text, bytes, shown) in [
            ("1 MiB", 1 << 20, "1 MiB"),
            ("512KiB", 512 << 10, "512 KiB"),
            ("1024 kib", 1 << 20, "1 MiB"),
            ("16MB", 16_000_000, "16 MB"),
            ("3 KB", 3000, "3 KB"),
            ("4096", 4096, "4 KiB"),
            ("10 B", 10, "10 B"),
            ("0", 0, "0 B"),
        ] {
            assert_eq!(Size::parse(text), Some(Size(bytes)), "{text}");
            assert_eq!(Size(bytes).to_string(), shown, "{text}");
        }
        for text in
            ["", "MiB", "1.5 MiB", "-1", "1 mebibyte", "99999999999999999999", "99999999999999999 GiB"]
        {
            assert_eq!(Size::parse(text), None, "{text}");
        }
    }
}
