//! Quotes text for suggested shell commands, so that a name cannot change what a command does.

/// One word for a POSIX shell, quoted if necessary.
pub fn shell_quote(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+=,".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        for plain in ["index", "image.generate", "a/b:c@d+e=f,g_1"] {
            assert_eq!(shell_quote(plain), plain);
        }
        assert_eq!(shell_quote("two words; rm -rf ~"), "'two words; rm -rf ~'");
        assert_eq!(shell_quote("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(shell_quote(""), "''");
        assert_eq!(shell_quote("--all"), "'--all'");
    }
}
