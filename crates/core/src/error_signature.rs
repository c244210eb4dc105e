//! The part of an error message that messages with the same cause have in common.

/// Characters of a signature.
const SIGNATURE_CHARS_MAX: usize = 120;
/// A word of hexadecimal digits from this length on is an id, if it has a decimal digit.
const ID_DIGITS_MIN: usize = 8;

/// The first line of a message with every number and id replaced by `#` and every quoted text by `"#"`:
/// `order 4711 of "ada" not found` becomes `order # of "#" not found`.
pub fn error_signature(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default().trim();
    let mut signature = String::with_capacity(line.len().min(SIGNATURE_CHARS_MAX));
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = if let Some(length) = quoted(rest, first) {
            signature.push_str("\"#\"");
            length
        } else if first.is_ascii_alphanumeric() {
            let length = word_length(rest);
            push_word(&rest[..length], &mut signature);
            length
        } else {
            signature.push(first);
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    truncated(&signature)
}

/// Bytes of a quoted text at the start. An apostrophe inside of a word never starts one, because words are read whole.
fn quoted(text: &str, first: char) -> Option<usize> {
    let quote = Some(first).filter(|first| matches!(first, '"' | '\'' | '`'))?;
    let end = text[1..].find(quote)?;
    Some(end + 2)
}

/// Bytes of a word: letters, digits, and what joins them to ids, addresses and times.
fn word_length(text: &str) -> usize {
    let is_part = |character: char| {
        character.is_alphanumeric() || matches!(character, '_' | '-' | '\'' | '@' | '.' | ':')
    };
    let end = text.find(|character| !is_part(character)).unwrap_or(text.len());
    // A point or a colon at the end belongs to the sentence.
    text[..end].trim_end_matches(['.', ':', '-', '\'']).len()
}

fn push_word(word: &str, signature: &mut String) {
    let is_address = word.contains('@');
    let is_id = word.len() >= ID_DIGITS_MIN
        && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && word.bytes().any(|byte| byte.is_ascii_digit());
    if is_address || is_id {
        signature.push('#');
        return;
    }
    let mut is_number = false;
    for character in word.chars() {
        let is_digit = character.is_ascii_digit();
        let joins = is_number && matches!(character, '.' | ':' | '-');
        if is_digit && !is_number {
            signature.push('#');
        } else if !is_digit && !joins {
            signature.push(character);
        }
        is_number = is_digit || joins;
    }
}

fn truncated(signature: &str) -> String {
    match signature.char_indices().nth(SIGNATURE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", signature[..end].trim_end()),
        None => signature.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_differ_in_values_have_one_signature() {
        let cases = [
            ("order 4711 of \"ada\" not found", "order # of \"#\" not found"),
            ("no answer from 10.0.0.7:5432 after 30.5 s", "no answer from # after # s"),
            ("job 01990c3a-7d2e-7abc-8def-0123456789ab is gone", "job # is gone"),
            ("550 5.1.1 no such mailbox: ada@example.org", "# # no such mailbox: #"),
            ("it can't be read\nat line 3", "it can't be read"),
            ("texture atlas needs 9.1 GiB, 8 GiB are there", "texture atlas needs # GiB, # GiB are there"),
            ("worker gpu12 failed in v2", "worker gpu# failed in v#"),
            ("deadbeef is a word, deadbee1 an id", "deadbeef is a word, # an id"),
            ("", ""),
        ];
        for (message, signature) in cases {
            assert_eq!(error_signature(message), signature);
        }
    }

    #[test]
    fn a_signature_is_short_and_is_its_own_signature() {
        let long = format!("failed: {}", "ä1 ".repeat(200));
        let signature = error_signature(&long);
        assert!(signature.chars().count() <= SIGNATURE_CHARS_MAX + 1, "{signature}");
        for text in [long.as_str(), "a \"quote", "it's 'x' 5", "::..--", "5"] {
            let once = error_signature(text);
            assert_eq!(error_signature(&once), once, "{text}");
        }
    }
}
