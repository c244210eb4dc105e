//! Sums the results of the test runners from their summary lines.

/// Tests by result.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl Tally {
    /// Reads the summary lines of `cargo test` (one per program), of nextest and of the conformance suite (one in all).
    pub fn of(output: &str) -> Self {
        let mut tally = Self::default();
        for line in summary_lines(output) {
            tally.passed += number_before(line, "passed");
            tally.failed += number_before(line, "failed") + number_before(line, "timed");
            tally.skipped += number_before(line, "ignored") + number_before(line, "skipped");
        }
        tally
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// The summary lines of the runners.
pub fn summary_lines(output: &str) -> impl Iterator<Item = &str> {
    let lines = output.lines().map(str::trim);
    lines.filter(|line| line.starts_with("Summary [") || line.starts_with("test result:"))
}

/// The tests that failed and passed when they were repeated.
pub fn flaky(output: &str) -> impl Iterator<Item = String> {
    let tests = output.lines().filter_map(|line| line.trim_start().strip_prefix("FLAKY "));
    tests.map(|test| format!("flaky: passed when it was repeated: {test}"))
}

fn number_before(line: &str, word: &str) -> u64 {
    let words: Vec<&str> = line.split([' ', ',', ';']).filter(|word| !word.is_empty()).collect();
    let found = words.windows(2).find(|pair| pair[1] == word);
    found.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nextest_is_counted() {
        let output = "        PASS [   0.004s] xtask a\n     Summary [  12.300s] 415 tests run: 412 passed (1 slow), 2 failed, 1 timed out, 3 skipped\n";
        assert_eq!(Tally::of(output), Tally { passed: 412, failed: 3, skipped: 3 });
    }

    #[test]
    fn flaky_tests_are_named() {
        let output = "  TRY 1 FAIL [   0.004s] (1/2) xtask a\n       FLAKY 2/2 [   0.011s] (1/2) xtask a\n";
        let expected = "flaky: passed when it was repeated: 2/2 [   0.011s] (1/2) xtask a";
        assert_eq!(flaky(output).collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn cargo_test_is_counted_over_all_its_programs() {
        let output = "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                      test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(Tally::of(output).to_string(), "12 passed, 0 failed, 1 skipped");
    }
}
