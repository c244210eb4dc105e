//! Random changes of seed inputs, reproducible by seed. Knows the words of all seed inputs, so that many changed inputs are
//! still close to valid.

/// Longer inputs are cut.
const BYTES_MAX: usize = 16 << 10;
/// Changes of one input, at most.
const CHANGES_MAX: u64 = 6;
/// Numbers and marks at which parsers have limits.
const EDGES: &[&str] = &[
    "0",
    "-1",
    "1e400",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "\u{feff}",
    "é",
    "\u{1f600}",
    "\0",
    "\r\n",
    "[[[[[[[[",
    "{\"",
    "%",
    "%00",
    "::",
    "//",
    "'",
    "'''",
];

/// Random numbers from a seed (`SplitMix64`).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if there is none.
    fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }
}

/// Makes inputs from seed inputs.
#[derive(Clone, Debug)]
pub struct Mutator {
    inputs: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
    rng: Rng,
}

impl Mutator {
    /// `inputs` must not be empty.
    pub fn new(inputs: Vec<Vec<u8>>, seed: u64) -> Self {
        let mut words: Vec<Vec<u8>> = inputs.iter().flat_map(|input| words_of(input)).collect();
        words.extend(EDGES.iter().map(|edge| edge.as_bytes().to_vec()));
        words.sort();
        words.dedup();
        Self { inputs, words, rng: Rng::new(seed) }
    }

    /// The next input.
    pub fn next_input(&mut self) -> Vec<u8> {
        let chosen = self.rng.below(self.inputs.len());
        let mut input = self.inputs[chosen].clone();
        for _ in 0..=self.rng.next() % CHANGES_MAX {
            self.change(&mut input);
        }
        input.truncate(BYTES_MAX);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let (from, to) = self.range(input.len());
        match self.rng.below(8) {
            0 => drop(input.drain(from..to)),
            1 => {
                let copied = input[from..to].to_vec();
                let at = self.rng.below(input.len() + 1);
                input.splice(at..at, copied);
            }
            // Replaces a word, or inserts one.
            2 | 3 => {
                let (from, to) = self.word_range(input);
                let word = self.rng.below(self.words.len());
                input.splice(from..to, self.words[word].clone());
            }
            4 => {
                let word = self.rng.below(self.words.len());
                input.splice(from..from, self.words[word].clone());
            }
            5 => {
                let other = self.rng.below(self.inputs.len());
                let other = self.inputs[other].clone();
                let (begin, end) = self.range(other.len());
                input.splice(from..to, other[begin..end].iter().copied());
            }
            6 => {
                if let Some(byte) = input.get_mut(from) {
                    *byte ^= 1 << self.rng.below(8);
                }
            }
            _ => input.truncate(to),
        }
    }

    /// A random range, mostly short.
    fn range(&mut self, length: usize) -> (usize, usize) {
        let from = self.rng.below(length + 1);
        let longest = if self.rng.below(4) == 0 { length } else { 24 };
        (from, (from + 1 + self.rng.below(longest)).min(length).max(from))
    }

    /// The range of a random word.
    fn word_range(&mut self, input: &[u8]) -> (usize, usize) {
        let at = self.rng.below(input.len());
        let begin = input[..at].iter().rposition(|byte| !is_word(*byte)).map_or(0, |before| before + 1);
        let end = input[at..].iter().position(|byte| !is_word(*byte)).map_or(input.len(), |after| at + after);
        (begin.min(end), end)
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') || !byte.is_ascii()
}

/// The words of an input, and its single marks.
fn words_of(input: &[u8]) -> Vec<Vec<u8>> {
    let words = input.split(|byte| !is_word(*byte)).filter(|word| !word.is_empty() && word.len() <= 40);
    let marks = input.iter().filter(|byte| !is_word(**byte)).map(|byte| vec![*byte]);
    words.map(<[u8]>::to_vec).chain(marks).collect()
}
