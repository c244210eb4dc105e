//! API keys, and records of workers that were seen.

use serde_json::json;

use crate::make::{catalog, envelope};
use crate::prelude::*;
use crate::world::World;

fn refusal(new: NewKey) -> Refusal {
    let mut world = World::new(catalog());
    world.submit(&envelope("ann", Command::AddKey(Box::new(new)))).expect_err("it is invalid")
}

#[test]
fn a_refused_key_names_the_field_and_the_reason() {
    let new = NewKey { id: "k".into(), role: Role::Viewer, user_id: None, digest: [1; 32] };
    let invalid = Refusal::invalid;
    assert_eq!(refusal(new.clone()), invalid("#/role", "the first key must be an admin's"));
    let producer = NewKey { role: Role::Producer, ..new.clone() };
    assert_eq!(refusal(producer), invalid("#/user_id", "a producer's key needs one"));
    for (pointer, new) in [
        ("#/id", NewKey { id: "".into(), ..new.clone() }),
        ("#/id", NewKey { id: "k".repeat(256).into(), ..new.clone() }),
        ("#/user_id", NewKey { user_id: Some("a\nb".into()), ..new }),
    ] {
        let detail = "must have 1 to 255 bytes and no control characters";
        assert_eq!(refusal(new), invalid(pointer, detail));
    }
}

#[test]
fn roles_are_parsed_from_their_names() {
    for role in Role::ALL {
        assert_eq!(Role::parse(role.as_str()), Some(role));
        assert_eq!(json!(role), json!(role.as_str()));
    }
    assert_eq!(Role::parse("root"), None);
}

scenarios! {
    include_str!("callers.txt");
    fn the_first_key_must_be_an_admin_key();
    fn a_producers_key_needs_a_user();
    fn adding_the_same_key_again_is_a_replay_and_another_secret_is_refused();
    fn a_key_is_revoked_once();
    fn workers_are_recorded_with_the_time_they_were_seen();
    fn a_worker_is_bound_to_its_newest_connection();
}
