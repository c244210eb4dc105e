//! Splits a guard's text into tokens. String escapes are those of CEL; numbers have no sign, because `-` is an operator.

use super::ast::SourceSpan;
use super::{GUARD_BYTES_MAX, GuardFlaw, flaw};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'s> {
    pub(super) kind: TokenKind<'s>,
    pub(super) span: SourceSpan,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind<'s> {
    /// Up to 2⁶³, which is valid only after a minus; the parser checks that.
    Int(u64),
    Double(f64),
    Str(String),
    /// Includes keywords: the meaning of a word depends on its position.
    Word(&'s str),
    Symbol(&'static str),
    End,
}

/// Longest first, so that `<=` is not `<` and `=`.
const SYMBOLS: [&str; 24] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", ".", ",", "(", ")",
    "[", "]", "{", "}",
];

/// The tokens of a text; the last is always `End`.
pub(super) fn lex(source: &str) -> Result<Vec<Token<'_>>, GuardFlaw> {
    if source.len() > GUARD_BYTES_MAX {
        let message = format!("the guard has {} bytes, more than {GUARD_BYTES_MAX}", source.len());
        return Err(flaw(SourceSpan { start: 0, end: source.len() }, message, None));
    }
    let mut lexer = Lexer { source, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let start = lexer.at;
        let kind = lexer.token()?;
        let done = kind == TokenKind::End;
        tokens.push(Token { kind, span: SourceSpan { start, end: lexer.at } });
        if done {
            return Ok(tokens);
        }
    }
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Lexer<'s> {
    fn token(&mut self) -> Result<TokenKind<'s>, GuardFlaw> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(TokenKind::End) };
        if first == '"' || first == '\'' {
            return self.string(first);
        }
        if let Some(quote) = raw_quote(rest) {
            return self.raw_string(quote);
        }
        let after = rest.as_bytes().get(1);
        if first.is_ascii_digit() || first == '.' && after.is_some_and(u8::is_ascii_digit) {
            return self.number();
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let length = count(rest, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
            self.at += length;
            return Ok(TokenKind::Word(&rest[..length]));
        }
        self.symbol(first)
    }

    fn symbol(&mut self, first: char) -> Result<TokenKind<'s>, GuardFlaw> {
        let rest = self.rest();
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            self.at += symbol.len();
            return Ok(TokenKind::Symbol(symbol));
        }
        let help = match first {
            '=' => Some("write `==` to compare"),
            '&' => Some("write `&&` for and"),
            '|' => Some("write `||` for or"),
            '`' | '“' | '”' | '‘' | '’' => Some("write strings in \"…\" or '…'"),
            _ => None,
        };
        let span = SourceSpan { start: self.at, end: self.at + first.len_utf8() };
        Err(flaw(span, format!("`{}` is not allowed in a guard", first.escape_debug()), help))
    }

    fn number(&mut self) -> Result<TokenKind<'s>, GuardFlaw> {
        let start = self.at;
        let rest = self.rest();
        let (text, token) = if rest.starts_with("0x") || rest.starts_with("0X") {
            let length = count(&rest[2..], |byte| byte.is_ascii_hexdigit());
            let token = u64::from_str_radix(&rest[2..2 + length], 16).ok().map(TokenKind::Int);
            (&rest[..2 + length], token)
        } else {
            let text = &rest[..decimal_length(rest)];
            let whole = text.bytes().all(|byte| byte.is_ascii_digit());
            let token = if whole {
                text.parse().ok().map(TokenKind::Int)
            } else {
                text.parse().ok().filter(|double: &f64| double.is_finite()).map(TokenKind::Double)
            };
            (text, token)
        };
        self.at += text.len();
        let tail = count(self.rest(), |byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if tail > 0 {
            let end = self.at + tail;
            let message = format!("`{}` is not a number", &self.source[start..end]);
            let help = "numbers are written 42, 0x2a, 4.2 or 4.2e1; there are no unsigned ints";
            return Err(flaw(SourceSpan { start, end }, message, Some(help)));
        }
        let span = SourceSpan { start, end: self.at };
        token.ok_or_else(|| flaw(span, format!("`{text}` does not fit in 64 bits"), None))
    }

    fn raw_string(&mut self, quote: char) -> Result<TokenKind<'s>, GuardFlaw> {
        let start = self.at;
        let body = &self.source[start + 2..];
        match body.find([quote, '\n']) {
            Some(length) if body[length..].starts_with(quote) => {
                self.at = start + 2 + length + 1;
                Ok(TokenKind::Str(body[..length].to_owned()))
            }
            _ => Err(open_string(start, self.source, quote)),
        }
    }

    fn string(&mut self, quote: char) -> Result<TokenKind<'s>, GuardFlaw> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let at = self.at;
            match self.next_char() {
                Some('\\') => text.push(self.escape(at)?),
                Some(found) if found == quote => return Ok(TokenKind::Str(text)),
                Some('\n') | None => return Err(open_string(start, self.source, quote)),
                Some(found) => text.push(found),
            }
        }
    }

    /// What follows a backslash.
    fn escape(&mut self, start: usize) -> Result<char, GuardFlaw> {
        let plain = match self.next_char() {
            Some('a') => Some('\u{7}'),
            Some('b') => Some('\u{8}'),
            Some('f') => Some('\u{c}'),
            Some('n') => Some('\n'),
            Some('r') => Some('\r'),
            Some('t') => Some('\t'),
            Some('v') => Some('\u{b}'),
            Some(same @ ('\\' | '?' | '"' | '\'' | '`')) => Some(same),
            Some('x' | 'X') => self.code(2, 16),
            Some('u') => self.code(4, 16),
            Some('U') => self.code(8, 16),
            Some('0'..='3') => {
                self.at -= 1;
                self.code(3, 8)
            }
            _ => None,
        };
        plain.ok_or_else(|| {
            let message = format!("`{}` is not an escape", self.source[start..self.at].escape_debug());
            let help = r#"write `\\` for a backslash, or a raw string: r"…""#;
            flaw(SourceSpan { start, end: self.at }, message, Some(help))
        })
    }

    /// A character by its code; `None` if digits are missing or the code is invalid.
    fn code(&mut self, digits: usize, radix: u32) -> Option<char> {
        let text = self.rest().get(..digits)?;
        // The conversion below would accept a sign.
        text.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        let found = u32::from_str_radix(text, radix).ok().and_then(char::from_u32)?;
        self.at += digits;
        Some(found)
    }

    fn skip_blanks(&mut self) {
        loop {
            self.at += count(self.rest(), |byte| byte.is_ascii_whitespace());
            if !self.rest().starts_with("//") {
                return;
            }
            self.at += count(self.rest(), |byte| byte != b'\n');
        }
    }

    fn next_char(&mut self) -> Option<char> {
        let found = self.rest().chars().next()?;
        self.at += found.len_utf8();
        Some(found)
    }

    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }
}

/// The number of leading bytes that pass. Every caller stops at a character boundary.
fn count(text: &str, pass: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| pass(*byte)).count()
}

/// The quote of `r"…"` and `r'…'`.
fn raw_quote(text: &str) -> Option<char> {
    let quoted = text.strip_prefix(['r', 'R'])?;
    quoted.chars().next().filter(|first| matches!(first, '"' | '\''))
}

/// The digits, with a fraction and an exponent if they are complete; `1.size()` is the int 1 and a call.
fn decimal_length(text: &str) -> usize {
    let digits = |from: usize| count(&text[from..], |byte| byte.is_ascii_digit());
    let mut length = digits(0);
    if text[length..].starts_with('.') && digits(length + 1) > 0 {
        length += 1 + digits(length + 1);
    }
    if text[length..].starts_with(['e', 'E']) {
        let signed = text[length + 1..].starts_with(['+', '-']);
        let from = length + 1 + usize::from(signed);
        if digits(from) > 0 {
            length = from + digits(from);
        }
    }
    length
}

fn open_string(start: usize, source: &str, quote: char) -> GuardFlaw {
    let end = source[start..].find('\n').map_or(source.len(), |length| start + length);
    let help = format!("close it with {quote} on the same line");
    flaw(SourceSpan { start, end }, "this string is not closed", Some(&help))
}
