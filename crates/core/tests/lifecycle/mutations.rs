//! Any text parses to a lifecycle or to flaws, never to a panic.

use proptest::prelude::*;
use tenure_core::lifecycle::{Lifecycle, diff};

use super::mutated::mutated_file;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_mutated_file_gives_a_lifecycle_or_flaws(file in mutated_file()) {
        let source = &file.source;
        match Lifecycle::parse(source) {
            Ok(lifecycle) => {
                lifecycle.longest_life_untouched();
                lifecycle.longest_life_crashing();
                let original = Lifecycle::parse(file.original).unwrap();
                diff(&original, &lifecycle);
                prop_assert!(diff(&lifecycle, &lifecycle).changes.is_empty());
            }
            Err(flaws) => {
                prop_assert!(!flaws.is_empty());
                for flaw in flaws {
                    prop_assert!(!flaw.locations.is_empty() && !flaw.help.is_empty() && !flaw.message.contains('\n'));
                    for place in flaw.locations {
                        prop_assert!(source.get(place.start..place.end).is_some(), "{place:?} is a piece of the file");
                    }
                }
            }
        }
    }

    #[test]
    fn arbitrary_text_is_refused(source in "\\PC{0,300}") {
        prop_assert!(Lifecycle::parse(&source).is_err());
    }
}
