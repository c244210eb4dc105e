//! Scans a Rust file: which characters are code, comments and strings, and which lines are tests.
//!
//! This is not a parser; it relies on the layout that rustfmt produces.

use super::names::in_name;

/// The file in two views of the same shape: every character keeps its place, and what is not in the view is blank.
pub(super) struct Source {
    pub(super) code: Vec<String>,
    pub(super) comments: Vec<String>,
    /// The contents of the string literals, each with its first line.
    pub(super) literals: Vec<(usize, String)>,
    test: Vec<bool>,
    /// Modules in other files that are compiled for tests only.
    pub(super) test_modules: Vec<String>,
}

impl Source {
    pub(super) fn scan(text: &str) -> Self {
        let mut scanner = Scanner::new(text);
        scanner.run();
        let lines = |view: &str| view.lines().map(str::to_string).collect::<Vec<_>>();
        let mut source = Self {
            test: vec![false; text.lines().count()],
            code: lines(&scanner.code),
            comments: lines(&scanner.comments),
            literals: scanner.literals,
            test_modules: Vec::new(),
        };
        source.find_tests();
        source
    }

    /// Whether the line, numbered from 1, is part of a test.
    pub(super) fn is_test(&self, line: usize) -> bool {
        self.test.get(line - 1).copied().unwrap_or(false)
    }

    pub(super) fn mark_as_test(&mut self) {
        self.test.fill(true);
    }

    /// The lines of code outside tests, numbered from 1.
    pub(super) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines_where(false)
    }

    /// The lines of code inside tests, numbered from 1.
    pub(super) fn test_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines_where(true)
    }

    fn lines_where(&self, test: bool) -> impl Iterator<Item = (usize, &str)> {
        let numbered = self.code.iter().enumerate().map(|(index, line)| (index + 1, line.as_str()));
        numbered.filter(move |(line, _)| self.is_test(*line) == test)
    }

    /// The last line of the item that begins on this line: where its braces close, or its semicolon.
    pub(super) fn item_end(&self, first: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for (index, line) in self.code.iter().enumerate().skip(first - 1) {
            for letter in line.chars() {
                match letter {
                    '{' | '(' | '[' => depth += 1,
                    ')' | ']' => depth = depth.saturating_sub(1),
                    '}' if depth <= 1 => return Some(index + 1),
                    '}' => depth -= 1,
                    ';' if depth == 0 => return Some(index + 1),
                    _ => {}
                }
            }
        }
        None
    }

    fn find_tests(&mut self) {
        for index in 0..self.code.len() {
            let line = self.code[index].trim();
            if !(line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test")) || self.test[index] {
                continue;
            }
            let end = self.item_end(index + 1).unwrap_or(self.code.len());
            self.test[index..end].fill(true);
            let item = self.code[index..end].join(" ");
            if let Some((_, name)) = item.rsplit_once("mod ").filter(|_| !item.contains('{')) {
                self.test_modules.push(name.trim_end_matches(';').trim().to_string());
            }
        }
    }
}

struct Scanner {
    text: Vec<char>,
    at: usize,
    line: usize,
    code: String,
    comments: String,
    literals: Vec<(usize, String)>,
}

impl Scanner {
    fn new(text: &str) -> Self {
        let (code, comments) = (String::new(), String::new());
        Self { text: text.chars().collect(), at: 0, line: 1, code, comments, literals: Vec::new() }
    }

    fn run(&mut self) {
        while self.at < self.text.len() {
            match (self.text[self.at], self.ahead(1)) {
                ('/', Some('/')) => self.comment(|scanner, _| scanner.ahead(0) == Some('\n')),
                ('/', Some('*')) => self.comment(Self::block_comment_ends),
                ('"', _) => self.string(0, true),
                ('r', _) if self.raw_string_hashes().is_some() => {
                    let hashes = self.raw_string_hashes().unwrap_or(0);
                    (0..=hashes).for_each(|_| self.keep_code());
                    self.string(hashes, false);
                }
                ('\'', _) => self.character(),
                _ => self.keep_code(),
            }
        }
    }

    fn ahead(&self, by: usize) -> Option<char> {
        self.text.get(self.at + by).copied()
    }

    fn keep_code(&mut self) {
        self.step(true, false);
    }

    /// Copies one character to the views that contain it.
    fn step(&mut self, code: bool, comment: bool) {
        let Some(letter) = self.ahead(0) else { return };
        let shown = |contains: bool| if contains || letter == '\n' { letter } else { ' ' };
        self.code.push(shown(code));
        self.comments.push(shown(comment));
        self.line += usize::from(letter == '\n');
        self.at += 1;
    }

    fn comment(&mut self, ends: impl Fn(&mut Self, &mut usize) -> bool) {
        let mut depth = 0;
        while self.at < self.text.len() && !ends(self, &mut depth) {
            self.step(false, true);
        }
    }

    /// Block comments nest. Steps over an opening or closing pair; true after the outermost has closed.
    fn block_comment_ends(&mut self, depth: &mut usize) -> bool {
        match (self.ahead(0), self.ahead(1)) {
            (Some('/'), Some('*')) => {
                *depth += 1;
                self.step(false, true);
            }
            (Some('*'), Some('/')) => {
                *depth -= 1;
                self.step(false, true);
                if *depth == 0 {
                    self.step(false, true);
                    return true;
                }
            }
            _ => {}
        }
        false
    }

    /// `r"`, `r#"`, `br##"`: the number of hashes, if this `r` opens a raw string and is not the end of a name.
    fn raw_string_hashes(&self) -> Option<usize> {
        let before = |by: usize| self.at.checked_sub(by).map(|at| self.text[at]);
        let is_prefixed = matches!(before(1), Some('b' | 'c')) && !before(2).is_some_and(in_name);
        if before(1).is_some_and(in_name) && !is_prefixed {
            return None;
        }
        let hashes = self.text[self.at + 1..].iter().take_while(|letter| **letter == '#').count();
        (self.ahead(1 + hashes) == Some('"')).then_some(hashes)
    }

    fn string(&mut self, hashes: usize, escapes: bool) {
        let line = self.line;
        self.keep_code();
        let start = self.at;
        while let Some(letter) = self.ahead(0) {
            if letter == '"' && (1..=hashes).all(|by| self.ahead(by) == Some('#')) {
                break;
            }
            let pair = escapes && letter == '\\';
            (0..=usize::from(pair)).for_each(|_| self.step(false, false));
        }
        let end = self.at.min(self.text.len());
        self.literals.push((line, self.text[start..end].iter().collect()));
        (0..=hashes).for_each(|_| self.keep_code());
    }

    /// A character literal is blank; a lifetime is code.
    fn character(&mut self) {
        let length = match (self.ahead(1), self.ahead(2)) {
            (Some('\\'), _) => {
                self.text[self.at + 3..].iter().position(|letter| *letter == '\'').map(|at| at + 4)
            }
            (Some(_), Some('\'')) => Some(3),
            _ => None,
        };
        match length {
            Some(length) => (0..length).for_each(|_| self.step(false, false)),
            None => self.keep_code(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_not_code() {
        let source = Source::scan("let a = \"x // {\"; // {\n/* { /* } */ */ b('{', '\\'', &'a c)\n");
        assert_eq!(source.code[0].trim_end(), "let a = \"      \";");
        assert_eq!(source.comments[0].trim(), "// {");
        assert_eq!(source.code[1].trim(), "b(   ,     , &'a c)");
        assert_eq!(source.literals, [(1, "x // {".to_string())]);
    }

    #[test]
    fn raw_strings_end_at_their_hashes() {
        let source = Source::scan("f(r#\"a \"quoted\" {\"#, br\"\\\", \"\\\"{\\\\\", for_r\"x\") }\n");
        let contents: Vec<&str> = source.literals.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(contents, ["a \"quoted\" {", "\\", "\\\"{\\\\", "x"]);
        assert!(!source.code[0].contains('{') && source.code[0].contains('}'));
    }

    #[test]
    fn a_string_over_several_lines_keeps_the_line_numbers() {
        let source = Source::scan("let a = \"one\ntwo\";\nlet b = \"three\";\n");
        assert_eq!(source.literals[1], (3, "three".to_string()));
        assert_eq!(source.code.len(), 3);
    }

    #[test]
    fn only_items_marked_for_tests_are_tests() {
        let text = "fn a() {}\n#[cfg(test)]\nuse b;\nfn c() {}\n#[cfg(test)]\nmod tests {\n    fn d() { [0; 3] }\n}\nfn e() {}\n";
        let source = Source::scan(text);
        let tests: Vec<usize> = source.test_lines().map(|(line, _)| line).collect();
        assert_eq!(tests, [2, 3, 5, 6, 7, 8]);
        assert!(source.test_modules.is_empty());
    }

    #[test]
    fn a_test_module_in_another_file_is_listed() {
        let source = Source::scan("#[cfg(test)]\npub(crate) mod fixture;\nmod other;\n");
        assert_eq!(source.test_modules, ["fixture"]);
    }
}
