//! The part of a terminal emulator that tests need to read a screen.

/// What a program has drawn.
#[derive(Default)]
pub(crate) struct Screen {
    cells: Vec<Vec<char>>,
    cursor: (usize, usize),
    /// The cursor's position on the main screen while the alternate screen is shown.
    main_cursor: (usize, usize),
    /// The beginning of an incomplete character or escape sequence.
    incomplete: Vec<u8>,
    is_alternate: bool,
    is_cursor_hidden: bool,
    /// Number of times that the screen was cleared.
    pub(crate) clears: usize,
}

impl Screen {
    pub(crate) fn new((width, height): (u16, u16)) -> Self {
        Self { cells: vec![vec![' '; width.into()]; height.into()], ..Self::default() }
    }

    pub(crate) fn resize(&mut self, size: (u16, u16)) {
        self.cells = Self::new(size).cells;
    }

    /// The main screen is shown, with its cursor.
    pub(crate) fn is_restored(&self) -> bool {
        !self.is_alternate && !self.is_cursor_hidden
    }

    pub(crate) fn text(&self) -> String {
        self.cells.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned() + "\n").collect()
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.incomplete.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.incomplete);
        let valid = match std::str::from_utf8(&bytes) {
            Ok(_) => bytes.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = String::from_utf8_lossy(&bytes[..valid]).into_owned();
        let mut chars = text.chars();
        loop {
            let left = chars.as_str().len();
            match chars.next() {
                None => break,
                Some('\x1b') => {
                    if !self.escape(&mut chars) {
                        self.incomplete = text.as_bytes()[text.len() - left..].to_vec();
                        break;
                    }
                }
                Some('\r') => self.cursor.0 = 0,
                Some('\n') => self.cursor.1 += 1,
                Some(other) => self.put(other),
            }
        }
        self.incomplete.extend_from_slice(&bytes[valid..]);
    }

    fn put(&mut self, char: char) {
        if let Some(cell) = self.cells.get_mut(self.cursor.1).and_then(|row| row.get_mut(self.cursor.0)) {
            *cell = char;
        }
        self.cursor.0 += 1;
    }

    /// False if the sequence is incomplete.
    fn escape(&mut self, chars: &mut std::str::Chars<'_>) -> bool {
        match chars.next() {
            None => return false,
            Some('[') => {}
            Some(_) => return true,
        }
        let mut parameters = String::new();
        for char in chars {
            if matches!(char, '@'..='~') {
                self.control(&parameters, char);
                return true;
            }
            parameters.push(char);
        }
        false
    }

    fn control(&mut self, parameters: &str, end: char) {
        let mut numbers = parameters.split(';').map(|number| number.parse::<usize>().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        match (parameters, end) {
            ("?1049", 'h') => {
                self.is_alternate = true;
                self.main_cursor = self.cursor;
                self.clear();
            }
            ("?1049", 'l') => {
                self.is_alternate = false;
                self.cursor = self.main_cursor;
                self.clear();
            }
            ("?25", 'h' | 'l') => self.is_cursor_hidden = end == 'l',
            (_, 'H') => {
                let row = next().max(1) - 1;
                self.cursor = (next().max(1) - 1, row);
            }
            (_, 'J') => {
                self.clears += 1;
                self.clear();
            }
            _ => {}
        }
    }

    fn clear(&mut self) {
        self.cells.iter_mut().flatten().for_each(|cell| *cell = ' ');
    }
}
