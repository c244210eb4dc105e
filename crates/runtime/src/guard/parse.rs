//! Parses tokens into a syntax tree by binding power (Pratt). Names, functions and arguments are checked and patterns
//! compiled, so a parsed guard contains nothing unknown.

use regex::{Regex, RegexBuilder};

use super::ast::{Access, Expr, ExprKind, Function, OPERATORS, Operator, PathStep, SourceSpan, StringTest};
use super::lex::{Token, TokenKind, lex};
use super::names::Purpose;
use super::{GUARD_DEPTH_MAX, GuardFlaw, PATTERN_BYTES_MAX, PATTERN_COMPILED_BYTES_MAX, flaw, names};

pub(super) fn parse(source: &str) -> Result<Expr, GuardFlaw> {
    let root = whole(source, Purpose::Guard)?;
    if root.is_never_bool() {
        return Err(flaw(root.span, "a guard must be a bool", Some("compare it with something")));
    }
    Ok(root)
}

/// Parses a key expression.
pub(super) fn parse_key(source: &str) -> Result<Expr, GuardFlaw> {
    whole(source, Purpose::Key)
}

fn whole(source: &str, purpose: Purpose) -> Result<Expr, GuardFlaw> {
    let mut parser = Parser { purpose, tokens: lex(source)?, at: 0, depth: 0 };
    let root = parser.expr()?;
    if parser.peek().kind != TokenKind::End {
        return Err(parser.unexpected("an operator or the end"));
    }
    Ok(root)
}

struct Parser<'s> {
    purpose: Purpose,
    tokens: Vec<Token<'s>>,
    at: usize,
    depth: usize,
}

enum Connective {
    Or,
    And,
    Fold(Operator),
}

impl<'s> Parser<'s> {
    fn expr(&mut self) -> Result<Expr, GuardFlaw> {
        let condition = self.binary(0)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.nested(Self::expr)?;
        self.expect(":")?;
        let no = self.nested(Self::expr)?;
        let span = condition.span.to(no.span);
        Ok(Expr { kind: ExprKind::If(Box::new([condition, yes, no])), span })
    }

    /// Operands and operators that bind tighter than `floor`.
    fn binary(&mut self, floor: u8) -> Result<Expr, GuardFlaw> {
        let mut left = self.unary()?;
        while let Some((power, connective)) = binding(&self.peek().kind) {
            if power <= floor {
                break;
            }
            self.at += 1;
            let right = self.binary(power)?;
            left = join(left, connective, right);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, GuardFlaw> {
        let start = self.peek().span;
        if self.take("!") {
            let operand = self.nested(Self::unary)?;
            return Ok(Expr { span: start.to(operand.span), kind: ExprKind::Not(Box::new(operand)) });
        }
        if !self.take("-") {
            return self.postfix();
        }
        // The smallest int has no positive counterpart, so the sign is read with the digits.
        if let TokenKind::Int(size) = self.peek().kind {
            let span = start.to(self.next().span);
            let int = 0i64.checked_sub_unsigned(size).ok_or_else(|| too_big(span))?;
            return self.links(Expr { kind: ExprKind::Int(int), span });
        }
        let operand = self.nested(Self::unary)?;
        Ok(Expr { span: start.to(operand.span), kind: ExprKind::Negate(Box::new(operand)) })
    }

    fn postfix(&mut self) -> Result<Expr, GuardFlaw> {
        let base = self.primary()?;
        self.links(base)
    }

    /// The `.field`, `[index]` and `.method()` after a value.
    fn links(&mut self, base: Expr) -> Result<Expr, GuardFlaw> {
        let start = base.span;
        let mut steps = Vec::new();
        loop {
            let access = if self.take(".") {
                self.member()?
            } else if self.take("[") {
                let index = self.nested(Self::expr)?;
                self.expect("]")?;
                Access::Index(index)
            } else {
                break;
            };
            steps.push(PathStep { access, span: start.to(self.before()) });
        }
        let Some(last) = steps.last() else { return Ok(base) };
        Ok(Expr { span: last.span, kind: ExprKind::Path(Box::new(base), steps) })
    }

    /// What follows a dot.
    fn member(&mut self) -> Result<Access, GuardFlaw> {
        let TokenKind::Word(word) = self.peek().kind else {
            return Err(self.unexpected("a field or a method"));
        };
        let span = self.next().span;
        if matches!(word, "in" | "true" | "false" | "null") {
            let help = format!("write [\"{word}\"]");
            return Err(flaw(span, format!("`{word}` cannot follow a dot"), Some(&help)));
        }
        if !self.take("(") {
            return Ok(Access::Field(word.to_owned()));
        }
        let test = match word {
            "size" => {
                self.arguments(span, "x.size()", 0)?;
                return Ok(Access::Size);
            }
            "matches" => {
                let pattern = self.argument(span, "x.matches(\"pattern\")")?;
                return Ok(Access::Matches(compile(&pattern)?));
            }
            "startsWith" => StringTest::StartsWith,
            "endsWith" => StringTest::EndsWith,
            "contains" => StringTest::Contains,
            _ => return Err(names::unknown_method(word, span)),
        };
        let argument = self.argument(span, &format!("x.{word}(y)"))?;
        Ok(Access::StringTest(test, argument))
    }

    fn primary(&mut self) -> Result<Expr, GuardFlaw> {
        let span = self.peek().span;
        let kind = match self.peek().kind.clone() {
            TokenKind::Int(size) => ExprKind::Int(i64::try_from(size).map_err(|_| too_big(span))?),
            TokenKind::Double(double) => ExprKind::Double(double),
            TokenKind::Str(text) => ExprKind::Str(text),
            TokenKind::Word(word) => {
                self.at += 1;
                return self.word(word, span);
            }
            TokenKind::Symbol("(") => {
                self.at += 1;
                let inner = self.nested(Self::expr)?;
                let end = self.expect(")")?;
                // With its brackets, so that a message quotes them too.
                return Ok(Expr { kind: inner.kind, span: span.to(end) });
            }
            TokenKind::Symbol("[") => return self.list(),
            TokenKind::Symbol("{") => return self.map(),
            TokenKind::Symbol(_) | TokenKind::End => return Err(self.unexpected("a value")),
        };
        self.at += 1;
        Ok(Expr { kind, span })
    }

    /// A word at the start of a value: a literal, a name, a type or a function.
    fn word(&mut self, word: &'s str, span: SourceSpan) -> Result<Expr, GuardFlaw> {
        let kind = match word {
            "null" => ExprKind::Null,
            "true" => ExprKind::Bool(true),
            "false" => ExprKind::Bool(false),
            _ if self.take("(") => return self.call(word, span),
            _ => names::name(word, span, self.purpose)?,
        };
        Ok(Expr { kind, span })
    }

    fn call(&mut self, word: &'s str, span: SourceSpan) -> Result<Expr, GuardFlaw> {
        if word == "has" {
            let field = self.argument(span, "has(a.b)")?;
            let span = span.to(self.before());
            return has(field, span);
        }
        let function = match word {
            "size" => Function::Size,
            "int" => Function::Int,
            "double" => Function::Double,
            "string" => Function::String,
            "type" => Function::Type,
            _ => return Err(names::unknown_function(word, span)),
        };
        let argument = self.argument(span, &format!("{word}(x)"))?;
        let span = span.to(self.before());
        Ok(Expr { kind: ExprKind::Call(function, Box::new(argument)), span })
    }

    fn list(&mut self) -> Result<Expr, GuardFlaw> {
        let start = self.next().span;
        let elements = self.nested(|parser| parser.sequence("]", Self::expr))?;
        Ok(Expr { kind: ExprKind::List(elements), span: start.to(self.before()) })
    }

    fn map(&mut self) -> Result<Expr, GuardFlaw> {
        let start = self.next().span;
        let entries = self.nested(|parser| {
            parser.sequence("}", |parser| {
                let key = parser.expr()?;
                parser.expect(":")?;
                Ok((key, parser.expr()?))
            })
        })?;
        Ok(Expr { kind: ExprKind::Map(entries), span: start.to(self.before()) })
    }

    /// The one argument of a call.
    fn argument(&mut self, callee: SourceSpan, usage: &str) -> Result<Expr, GuardFlaw> {
        let mut arguments = self.arguments(callee, usage, 1)?;
        Ok(arguments.pop().expect("there is exactly one argument"))
    }

    fn arguments(&mut self, callee: SourceSpan, usage: &str, wanted: usize) -> Result<Vec<Expr>, GuardFlaw> {
        let arguments = self.nested(|parser| parser.sequence(")", Self::expr))?;
        if arguments.len() != wanted {
            let span = callee.to(self.before());
            let message = format!("expected {wanted} argument(s), found {}", arguments.len());
            return Err(flaw(span, message, Some(&format!("write {usage}"))));
        }
        Ok(arguments)
    }

    /// Parts between commas, up to the closing bracket; a comma may follow the last.
    fn sequence<T>(
        &mut self,
        close: &'static str,
        part: impl Fn(&mut Self) -> Result<T, GuardFlaw>,
    ) -> Result<Vec<T>, GuardFlaw> {
        let mut parts = Vec::new();
        while !self.take(close) {
            parts.push(part(self)?);
            if !self.take(",") {
                self.expect(close)?;
                break;
            }
        }
        Ok(parts)
    }

    /// The bound on recursion: whatever calls itself does so through here.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, GuardFlaw>) -> Result<T, GuardFlaw> {
        if self.depth == GUARD_DEPTH_MAX {
            let message = format!("a guard nests at most {GUARD_DEPTH_MAX} deep");
            return Err(flaw(self.peek().span, message, None));
        }
        self.depth += 1;
        let found = inner(self);
        self.depth -= 1;
        found
    }

    fn take(&mut self, symbol: &'static str) -> bool {
        let found = self.peek().kind == TokenKind::Symbol(symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &'static str) -> Result<SourceSpan, GuardFlaw> {
        if self.take(symbol) { Ok(self.before()) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> GuardFlaw {
        let found = match &self.peek().kind {
            TokenKind::Int(_) | TokenKind::Double(_) => "a number".to_owned(),
            TokenKind::Str(_) => "a string".to_owned(),
            TokenKind::Word(word) => format!("`{word}`"),
            TokenKind::Symbol(symbol) => format!("`{symbol}`"),
            TokenKind::End => "the end".to_owned(),
        };
        flaw(self.peek().span, format!("expected {wanted}, found {found}"), None)
    }

    fn peek(&self) -> &Token<'s> {
        &self.tokens[self.at]
    }

    /// Never called at the end: callers peek first.
    fn next(&mut self) -> &Token<'s> {
        self.at += 1;
        &self.tokens[self.at - 1]
    }

    /// The span of the previous token.
    fn before(&self) -> SourceSpan {
        self.tokens[self.at - 1].span
    }
}

fn binding(token: &TokenKind<'_>) -> Option<(u8, Connective)> {
    let text = match token {
        TokenKind::Symbol(symbol) => *symbol,
        TokenKind::Word("in") => "in",
        _ => return None,
    };
    match text {
        "||" => Some((1, Connective::Or)),
        "&&" => Some((2, Connective::And)),
        _ => {
            let (_, power, operator) = OPERATORS.iter().find(|(symbol, ..)| *symbol == text)?;
            Some((*power, Connective::Fold(*operator)))
        }
    }
}

/// Extends the chain on the left, or begins one.
fn join(mut left: Expr, connective: Connective, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    match (connective, &mut left.kind) {
        (Connective::And, ExprKind::All(parts)) | (Connective::Or, ExprKind::Any(parts)) => parts.push(right),
        (Connective::Fold(operator), ExprKind::Fold(_, rest)) => rest.push((operator, right)),
        (Connective::And, _) => left = Expr { kind: ExprKind::All(vec![left, right]), span },
        (Connective::Or, _) => left = Expr { kind: ExprKind::Any(vec![left, right]), span },
        (Connective::Fold(operator), _) => {
            left = Expr { kind: ExprKind::Fold(Box::new(left), vec![(operator, right)]), span };
        }
    }
    Expr { span, ..left }
}

/// `has(a.b)`: tests for the last field instead of reading it.
fn has(path: Expr, span: SourceSpan) -> Result<Expr, GuardFlaw> {
    let refused = || Err(flaw(path.span, "`has` needs a field", Some("write has(a.b), or \"b\" in a")));
    let ExprKind::Path(base, mut steps) = path.kind else { return refused() };
    let Some(PathStep { access: Access::Field(field), .. }) = steps.pop() else { return refused() };
    let map = match steps.last() {
        Some(last) => Expr { span: last.span, kind: ExprKind::Path(base, steps) },
        None => *base,
    };
    Ok(Expr { kind: ExprKind::Has(Box::new(map), field), span })
}

fn compile(pattern: &Expr) -> Result<Regex, GuardFlaw> {
    let ExprKind::Str(text) = &pattern.kind else {
        let help = "write it as a string literal, so that it can be compiled when the guard is loaded";
        return Err(flaw(pattern.span, "a pattern must be a literal", Some(help)));
    };
    if text.len() > PATTERN_BYTES_MAX {
        let message = format!("the pattern has {} bytes, more than {PATTERN_BYTES_MAX}", text.len());
        return Err(flaw(pattern.span, message, None));
    }
    let built = RegexBuilder::new(text)
        .size_limit(PATTERN_COMPILED_BYTES_MAX)
        // The cache of each matching thread; four times the size of the pattern is fast enough.
        .dfa_size_limit(4 * PATTERN_COMPILED_BYTES_MAX)
        .build();
    built.map_err(|error| {
        let help = matches!(error, regex::Error::CompiledTooBig(_))
            .then_some("repeat fewer times, or write [0-9] and (?-u:\\w) for \\d and \\w");
        flaw(pattern.span, format!("invalid pattern: {}", pattern_reason(&error)), help)
    })
}

/// Why the regex engine refuses a pattern, on one line.
pub(crate) fn pattern_reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "it is too large when compiled".to_owned(),
        other => {
            // The last line of the library's message is the reason.
            let text = other.to_string();
            text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
        }
    }
}

fn too_big(span: SourceSpan) -> GuardFlaw {
    flaw(span, "this number does not fit in 64 bits", None)
}
