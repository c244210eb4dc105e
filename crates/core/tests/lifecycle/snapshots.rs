//! The full text of the most important flaws: rule, message, locations with labels, and help.

use std::fmt::Write as _;

use tenure_core::lifecycle::Lifecycle;

fn report(source: &str) -> String {
    let mut text = String::new();
    for flaw in Lifecycle::parse(source).unwrap_err() {
        let _ = writeln!(text, "{} {}: {}", flaw.rule, flaw.rule.title(), flaw.message);
        for place in &flaw.locations {
            let piece = &source[place.start..place.end];
            let _ = writeln!(text, "  {}:{} {piece}: {}", place.line, place.column, place.label);
        }
        let _ = writeln!(text, "  help: {}", flaw.help);
    }
    text
}

cases! {
    "snapshots", report:
    fn syntax();
    fn names();
    fn roles();
    fn absorbing();
    fn reachable();
    fn no_trap();
    fn forward();
    fn bounded();
    fn total();
    fn owned();
    fn timed();
    fn sensible();
    fn money();
}
