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
    let new = NewKey::new("k", Role::Viewer, None, [1; 32]);
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

/// A world with an admin's key.
fn with_admin() -> World {
    let mut world = World::new(catalog());
    let added = add(&mut world, NewKey::new("root", Role::Admin, None, [0; 32]));
    assert!(added.is_ok(), "{added:?}");
    world
}

fn add(world: &mut World, new: NewKey) -> Result<ApiKey, Refusal> {
    world.submit(&envelope("ann", Command::AddKey(Box::new(new)))).map(|output| key_of(output).0)
}

fn key_of(output: CommandOutput) -> (ApiKey, bool) {
    let CommandOutput::Key { key, replayed } = output else { panic!("a key was expected") };
    (key, replayed)
}

fn rotate(world: &mut World, digest: u8, overlap: u64) -> Result<ApiKey, Refusal> {
    let rotate = RotateKey { id: "k".into(), digest: [digest; 32], overlap: Millis::seconds(overlap) };
    world.submit(&envelope("ann", Command::RotateKey(rotate))).map(|output| key_of(output).0)
}

#[test]
fn scopes_that_cannot_be_kept_are_refused() {
    let new = |role, scopes| NewKey { scopes, ..NewKey::new("k", role, Some("u".into()), [1; 32]) };
    let user = |user: &str| Scopes { user_id: Some(user.into()), ..Scopes::default() };
    let worker = Scopes { worker: Some("w-*".into()), ..Scopes::default() };
    let empty = Scopes { types: Some(Vec::new()), ..Scopes::default() };
    let range = Scopes { priority_min: Some(2), priority_max: Some(1), ..Scopes::default() };
    for (pointer, new) in [
        ("#/scopes", new(Role::Admin, worker)),
        ("#/scopes/user_id", new(Role::Worker, user("u"))),
        ("#/scopes/user_id", new(Role::Producer, user("other"))),
        ("#/scopes/types", new(Role::Viewer, empty)),
        ("#/scopes/priority_max", new(Role::Viewer, range)),
        ("#/expires_at", NewKey { expires: When::At(Timestamp(1)), ..new(Role::Viewer, user("u")) }),
    ] {
        let refused = add(&mut with_admin(), new).expect_err(pointer);
        let Refusal::ValidationFailed(errors) = &refused else { panic!("{refused:?}") };
        assert_eq!(errors[0].pointer, pointer);
    }
    let both = NewKey { more_roles: vec![Role::Worker], ..NewKey::new("k", Role::Producer, None, [1; 32]) };
    assert_eq!(
        add(&mut with_admin(), both),
        Err(Refusal::invalid("#/user_id", "a producer's key needs one"))
    );
}

#[test]
fn a_key_expires_after_its_time() {
    let mut world = with_admin();
    let new =
        NewKey { expires: When::In(Millis::seconds(60)), ..NewKey::new("k", Role::Viewer, None, [1; 32]) };
    let key = add(&mut world, new.clone()).unwrap();
    let end = key.created_at + Millis::seconds(60);
    assert_eq!(key.valid_until(&[1; 32], Timestamp(end.0 - 1)), Ok(Some(end)));
    assert_eq!(key.valid_until(&[1; 32], end), Err(KeyFlaw::Expired));
    assert!(new.describes(&key));
    assert!(!NewKey { expires: When::Now, ..new }.describes(&key));
}

#[test]
fn a_rotated_key_has_two_valid_secrets_until_the_overlap_ends() {
    let mut world = with_admin();
    let new = NewKey::new("k", Role::Viewer, None, [1; 32]);
    let key = add(&mut world, new).unwrap();
    let now = key.created_at;
    let rotated = rotate(&mut world, 2, 60).unwrap();
    let end = now + Millis::seconds(60);
    assert_eq!(rotated.details.rotated_at, Some(now));
    assert_eq!(rotated.valid_until(&[2; 32], end), Ok(None));
    assert_eq!(rotated.valid_until(&[1; 32], now), Ok(Some(end)));
    assert_eq!(rotated.valid_until(&[1; 32], end), Err(KeyFlaw::Expired));
    assert_eq!(rotated.valid_until(&[3; 32], now), Err(KeyFlaw::UnknownSecret));
    // A shorter overlap shortens that of every earlier secret; none ends all of them.
    let again = rotate(&mut world, 3, 30).unwrap();
    let sooner = now + Millis::seconds(30);
    assert_eq!(again.valid_until(&[1; 32], now), Ok(Some(sooner)));
    assert_eq!(again.valid_until(&[2; 32], now), Ok(Some(sooner)));
    let alone = rotate(&mut world, 4, 0).unwrap();
    assert_eq!(alone.details.earlier_secrets, []);
    for count in 0..8 {
        rotate(&mut world, 10 + count, 60).unwrap();
    }
    assert!(matches!(rotate(&mut world, 30, 60), Err(Refusal::ValidationFailed(_))), "too many are valid");
    let revoked = world.submit(&envelope("ann", Command::RevokeKey("k".into()))).map(key_of).unwrap().0;
    assert_eq!(revoked.valid_until(&revoked.digest, now), Err(KeyFlaw::Revoked));
    assert!(rotate(&mut world, 31, 60).is_err(), "a revoked key stays revoked");
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
