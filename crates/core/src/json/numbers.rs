//! Numbers that readers cannot represent, in texts of stores that an earlier version wrote.

use std::borrow::Cow;

/// JSON in which every number that would be infinite as `f64` is a string, so that the rest can be read.
pub fn quote_unreadable_numbers(text: &str) -> Cow<'_, str> {
    let (mut quoted, mut copied, mut at) = (String::new(), 0, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let begin = at;
        at += 1;
        match bytes[begin] {
            b'"' => {
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                at += bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                let number = &text[begin..at];
                if number.parse::<f64>().is_ok_and(f64::is_infinite) {
                    quoted.extend([&text[copied..begin], "\"", number, "\""]);
                    copied = at;
                }
            }
            _ => {}
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    quoted.push_str(&text[copied..]);
    Cow::Owned(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_cannot_be_read_are_quoted() {
        for (text, expected) in [
            (
                r#"{"a":1e400,"b":[-1E999 ,1e3],"c":"1e400 \" 1e400"}"#,
                r#"{"a":"1e400","b":["-1E999" ,1e3],"c":"1e400 \" 1e400"}"#,
            ),
            ("1e400", "\"1e400\""),
            (r#"{"1e400":[1.5,-0,true]}"#, r#"{"1e400":[1.5,-0,true]}"#),
        ] {
            assert_eq!(quote_unreadable_numbers(text), expected);
        }
    }
}
