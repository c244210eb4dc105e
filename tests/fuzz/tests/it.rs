//! The properties of every target hold for its seed inputs and for changes of them, from a fixed seed.

use tenure_fuzz::TARGETS;
use tenure_fuzz::mutator::Mutator;
use tenure_fuzz::runner::{self, Extent};

const SEED: u64 = 1;

fn run(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("the target exists");
    if let Err(error) = runner::run(target, SEED, Extent::Inputs(target.short_run)) {
        panic!("{error:#}");
    }
}

macro_rules! targets {
    ($($name:ident $target:literal),+ $(,)?) => {
        $(#[test]
        fn $name() {
            run($target);
        })+

        #[test]
        fn every_target_has_a_test() {
            let tested = [$($target),+];
            assert_eq!(TARGETS.iter().map(|target| target.name).collect::<Vec<_>>(), tested);
        }
    };
}

targets! {
    a_lifecycle_that_is_accepted_has_the_proved_properties "lifecycle",
    a_guard_means_the_same_in_any_context "guard",
    what_the_json_check_accepts_serde_json_accepts "json",
    the_times_of_a_cron_expression_match_it "cron",
    queries_and_cursors_are_read_back_as_written "query",
    words_and_terms_of_a_search_are_read_back_as_written "search",
    an_engine_that_sends_anything_is_answered_or_disconnected "socket",
    what_the_sdk_decodes_it_encodes_again "sdk",
    what_a_program_writes_is_split_without_loss "work",
}

#[test]
fn the_same_seed_gives_the_same_inputs() {
    let inputs = |seed| {
        let mut mutator = Mutator::new(vec![b"one two".to_vec(), b"{\"three\": 4}".to_vec()], seed);
        (0..100).map(|_| mutator.next_input()).collect::<Vec<_>>()
    };
    assert_eq!(inputs(1), inputs(1));
    assert_ne!(inputs(1), inputs(2));
}
