//! Formats stored texts: indented JSON, sizes, and truncation.

use maud::{Markup, html};

/// Bytes of a stored text that a page shows.
const SHOWN_BYTES: usize = 64 << 10;

/// A JSON text, truncated with a link to the full text.
pub(crate) fn json(text: &str, whole: &str) -> Markup {
    let (shown, is_cut) = pretty(text, SHOWN_BYTES);
    html! {
        pre tabindex="0" { (shown) }
        @if is_cut {
            p.hint { "Truncated. " a href=(whole) { "Full text, " (size(text.len() as u64)) } }
        }
    }
}

/// Indented JSON of at most `room` bytes, and whether it was truncated. Only white space between tokens changes: numbers
/// stay as they were written.
pub(crate) fn pretty(text: &str, room: usize) -> (String, bool) {
    let mut out = String::with_capacity(text.len().min(room) + 64);
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if out.len() + letter.len_utf8() > room {
            return (out, true);
        }
        if in_string {
            out.push(letter);
            in_string = is_escaped || letter != '"';
            is_escaped = !is_escaped && letter == '\\';
            continue;
        }
        match letter {
            '{' | '[' => {
                out.push(letter);
                while letters.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(end) = letters.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(letter);
            }
            ',' => {
                out.push(letter);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            white if white.is_ascii_whitespace() => {}
            other => {
                out.push(other);
                in_string = other == '"';
            }
        }
    }
    (out, false)
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// `312 bytes`, `64 KB`, `1.2 MB`.
pub(crate) fn size(bytes: u64) -> String {
    let tenths = |unit: u64, name: &str| {
        let tenths = bytes.saturating_mul(10) / unit;
        if tenths >= 100 || tenths.is_multiple_of(10) {
            format!("{} {name}", tenths / 10)
        } else {
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
    };
    match bytes {
        1 => "1 byte".to_owned(),
        0..1024 => format!("{bytes} bytes"),
        1024..0x10_0000 => tenths(1 << 10, "KB"),
        0x10_0000..0x4000_0000 => tenths(1 << 20, "MB"),
        _ => tenths(1 << 30, "GB"),
    }
}

/// Truncates to this many characters, the last of which is then an ellipsis.
pub(crate) fn cut(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        None => text.to_owned(),
        Some(_) => text.chars().take(letters.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_between_tokens_changes() {
        let text =
            r#"{"big":18446744073709551616, "exact" : 0.1000,"s":"a, {b}: \"c\\","none":[ ],"list":[1,{}]}"#;
        let (shown, is_cut) = pretty(text, 10_000);
        assert!(!is_cut);
        assert_eq!(
            shown,
            "{\n  \"big\": 18446744073709551616,\n  \"exact\": 0.1000,\n  \"s\": \"a, {b}: \\\"c\\\\\",\n  \
             \"none\": [],\n  \"list\": [\n    1,\n    {}\n  ]\n}"
        );
        let same = |text: &str| -> serde_json::Value { serde_json::from_str(text).unwrap() };
        assert_eq!(same(&shown), same(text));
    }

    #[test]
    fn long_text_is_truncated_between_characters() {
        let text = format!("\"{}\"", "ü".repeat(100));
        let (shown, is_cut) = pretty(&text, 10);
        assert!(is_cut && shown.len() <= 10 && shown.starts_with("\"üü"), "{shown}");
        assert_eq!((cut("abc", 3), cut("abcd", 3)), ("abc".to_owned(), "ab…".to_owned()));
    }

    #[test]
    fn sizes_have_the_largest_unit() {
        let sizes = [0, 1, 1023, 1024, 1536, 65_536, 1 << 20, 5 << 30];
        let shown = sizes.map(size);
        assert_eq!(shown, ["0 bytes", "1 byte", "1023 bytes", "1 KB", "1.5 KB", "64 KB", "1 MB", "5 GB"]);
    }
}
