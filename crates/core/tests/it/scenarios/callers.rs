//! API keys, and records of workers that were seen.

use serde_json::json;
use tenure_core::api_key::Role;
use tenure_core::command::{Command, NewKey};
use tenure_core::refusal::Refusal;

use super::check;
use crate::make::{catalog, envelope};
use crate::world::World;

#[test]
fn the_first_key_must_be_an_admin_key() {
    check(
        "0     ann add-key k1 worker          => validation_failed
         0     ann add-key k1 producer user=u => validation_failed
         1     ann add-key k1 admin           => key k1, admin, user none, by ann, valid, not replayed
         2     ann add-key k2 worker          => key k2, worker, valid
         3     ann revoke-key k1              => revoked
         4     ann add-key k3 viewer          => viewer
         4     -   audit                      => key_create by ann > key_create by ann > key_revoke by ann > key_create by ann",
    );
}

#[test]
fn a_producers_key_needs_a_user() {
    check(
        "0     ann add-key k1 admin
         1     ann add-key k2 producer         => validation_failed
         1     ann add-key k2 producer user=u1 => producer, user u1",
    );
}

#[test]
fn adding_the_same_key_again_is_a_replay_and_another_secret_is_refused() {
    check(
        "0     ann add-key k1 admin
         1     ann add-key k2 worker secret=s  => not replayed
         2     bob add-key k2 worker secret=s  => worker, by ann, replayed
         3     bob add-key k2 worker secret=t  => validation_failed
         4     ann revoke-key k2               => revoked
         5     ann add-key k2 worker secret=s  => revoked, replayed
         5     -   audit                       => key_create by ann > key_create by ann > key_revoke by ann",
    );
}

#[test]
fn a_key_is_revoked_once() {
    check(
        "0     ann add-key k1 admin
         1     ann revoke-key k2      => not_found
         2     ann revoke-key k1      => key k1, revoked, not replayed
         3     bob revoke-key k1      => key k1, revoked, replayed
         3     -   audit              => key_create by ann > key_revoke by ann",
    );
}

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

#[test]
fn workers_are_recorded_with_the_time_they_were_seen() {
    check(
        "0     node seen w2 w1:k1    => nothing
         0     -    workers          => w1 with k1@0 > w2 with nothing@0
         5     node seen w1:k2 w3 w1:k3
         5     -    workers          => w1 with k3@5 > w2 with nothing@0 > w3 with nothing@5
         86399 clock prune
         86399 -    workers          => w1 with k3@5 > w2 with nothing@0 > w3 with nothing@5
         86400 clock prune
         86400 -    workers          => w1 with k3@5 > w3 with nothing@5",
    );
}

#[test]
fn a_worker_is_bound_to_its_newest_connection() {
    check(
        "0     w1   seat k1 7        => nothing
         1     w2   seat k1 8
         2     node seen w1:k1 w2:k1 w3:k1
         2     -    workers          => w1 with k1@2 by 7 > w2 with k1@2 by 8 > w3 with k1@2
         3     w1   seat k2 9
         3     -    workers          => w1 with k2@3 by 9 > w2 with k1@2 by 8 > w3 with k1@2",
    );
}
