//! Lifecycle files: a flaw has a place in the file, and a file that is accepted has the properties that were proved. Its
//! diagrams can be drawn, and it does not differ from itself.

use tenure_core::lifecycle::{Flaw, Lifecycle, Location, LongestLife, diff};
use tenure_diagram::{Format, draw};

use super::proofs;

pub(super) fn check(input: &[u8]) {
    let Some(source) = super::text(input) else { return };
    match Lifecycle::parse(source) {
        Ok(lifecycle) => check_accepted(&lifecycle, source),
        Err(flaws) => {
            assert!(!flaws.is_empty(), "refused without a flaw");
            for flaw in &flaws {
                check_flaw(flaw, source);
            }
        }
    }
}

fn check_flaw(flaw: &Flaw, source: &str) {
    assert!(!flaw.locations.is_empty(), "{flaw} has no place");
    assert!(!flaw.message.is_empty() && !flaw.help.is_empty(), "{flaw:?}");
    for Location { start, end, line, column, .. } in &flaw.locations {
        assert!(source.get(*start..*end).is_some(), "{start}..{end} is no place in the file: {flaw}");
        let before = &source[..*start];
        let expected_line = before.matches('\n').count() + 1;
        let expected_column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        assert_eq!((*line, *column), (expected_line, expected_column), "{flaw}");
    }
}

fn check_accepted(lifecycle: &Lifecycle, source: &str) {
    assert_eq!(lifecycle.source, source);
    assert_eq!(Lifecycle::parse(source).as_ref(), Ok(lifecycle));
    proofs::check(lifecycle);
    let own = diff(lifecycle, lifecycle);
    assert!(own.changes.is_empty(), "{own:?}");
    for format in [Format::Text, Format::Mermaid, Format::Dot, Format::Svg] {
        let drawn = draw(lifecycle, format);
        assert!(drawn.ends_with('\n'), "{format:?}");
        let is_complete = lifecycle.states.iter().all(|state| drawn.contains(state.name.as_str()));
        assert!(is_complete, "{format:?} leaves out a state:\n{drawn}");
    }
    for life in [lifecycle.longest_life_untouched(), lifecycle.longest_life_crashing()] {
        if let LongestLife::Waits(wait) = life {
            assert!(lifecycle.state(wait.state.as_str()).is_some(), "{wait:?}");
        }
    }
}
