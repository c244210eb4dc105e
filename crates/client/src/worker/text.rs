//! Fits texts to the protocol's limits: length, and no U+0000.

/// Error messages, reasons, progress messages.
pub(super) const MESSAGE_BYTES_MAX: usize = 16 << 10;
/// Codes and other names.
pub(super) const NAME_BYTES_MAX: usize = 255;
/// Log lines.
pub(super) const LINE_BYTES_MAX: usize = 64 << 10;

/// The first bytes of a text, up to a character boundary.
pub(super) fn truncate(text: &str, bytes_max: usize) -> String {
    clean(&text[..text.floor_char_boundary(bytes_max)])
}

/// The text in chunks of at most this many bytes; an empty text is one chunk.
pub(super) fn chunks(mut text: &str, bytes_max: usize) -> Vec<String> {
    let mut chunks = Vec::new();
    while text.len() > bytes_max {
        let (chunk, rest) = text.split_at(text.floor_char_boundary(bytes_max));
        chunks.push(clean(chunk));
        text = rest;
    }
    chunks.push(clean(text));
    chunks
}

/// The default for a name that the server refuses, together with the lines that are sent with it.
pub(super) fn name_or<'a>(name: &'a str, default: &'a str) -> &'a str {
    let is_name = (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.contains('\0');
    if is_name { name } else { default }
}

fn clean(text: &str) -> String {
    // U+FFFD has three bytes and could exceed the limit.
    text.replace('\0', "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_between_characters() {
        assert_eq!(truncate("grün", 3), "gr");
        assert_eq!(truncate("a\0b", 9), "a?b");
        assert_eq!(chunks("grün", 3), ["gr", "ün"]);
        assert_eq!(chunks("", 3), [""]);
    }

    #[test]
    fn a_name_that_the_server_refuses_becomes_the_default() {
        assert_eq!(name_or("stderr", "stdout"), "stderr");
        for name in ["", "a\0b", &"ü".repeat(128)] {
            assert_eq!(name_or(name, "stdout"), "stdout");
        }
    }
}
