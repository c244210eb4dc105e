//! Lifecycle files: which are loaded, and what is reported about flawed ones.

use crate::fixture::{ERRAND, Fixture, check};

#[test]
fn lifecycles_that_match_are_added_to_the_built_in_ones() {
    let engine = include_str!("../../../../lifecycles/engine.toml");
    let fixture = Fixture::new(
        "lifecycles = [\"l*/*.toml\", \"lives/errand.toml\"]\n[types.a]\nlifecycle = \"errand\"",
    )
    .with("lives/errand.toml", ERRAND)
    .with("lives/.hidden.toml", "not one")
    .with("lives/readme.md", "not one")
    .with("others/x.toml", "not one")
    .with("later/engine.toml", &engine.replace("version = 1", "version = 2"));
    let names = |fixture: &Fixture| -> Vec<String> {
        let lifecycles = fixture.loaded().config.definitions.lifecycles;
        lifecycles.iter().map(|one| format!("{} {}", one.name, one.version)).collect()
    };
    let found = names(&fixture);
    assert_eq!(found.len(), 6, "{found:?}");
    assert!(found.contains(&"engine 2".to_owned()) && !found.contains(&"engine 1".to_owned()), "{found:?}");
    assert!(found.contains(&"errand 1".to_owned()), "{found:?}");
    let fixture =
        Fixture::empty().with("errand.toml", ERRAND).variable("TENURE_LIFECYCLES", "errand.toml, *.toml");
    assert_eq!(names(&fixture).len(), 6);
}

#[test]
fn flaws_of_lifecycle_files_are_reported() {
    let fixture = Fixture::new("lifecycles = [\"lives/*.toml\"]\n[types.a]\nlifecycle = \"errand\"")
        .with("lives/errand.toml", &ERRAND.replace("to   = \"done\"", "to   = \"dne\""));
    fixture.check_error("flawed_lifecycle_file");
}

#[test]
fn patterns_without_a_match_are_reported() {
    check("pattern_of_wrong_type");
    check("patterns_without_a_match");
    let fixture = Fixture::new("lifecycles = [\"*/errand.toml\"]")
        .with("a/errand.toml", ERRAND)
        .with("b/errand.toml", ERRAND);
    fixture.check_error("duplicate_lifecycle");
}
