//! Assets: when they can be added, when their objects are kept, and what a cancel discards.

use super::check;

#[test]
fn the_holder_adds_assets_while_it_holds_and_the_owner_at_any_time() {
    check(
        "type work follows distributed
         0     ann create work a
         0     ann asset a plan          => asset of type plan
         1     w1  claim start
         5     w1  asset a picture       => asset of type picture
         6     w2  asset a picture fence=1 => lease_conflict wrong_worker
         10    w1  succeed a
         11    w1  asset a picture       => lease_conflict lost
         12    ann asset a note          => asset of type note
         12    -   assets a              => plan@0 > picture@5 > note@12",
    );
}

#[test]
fn a_lost_lease_adds_nothing() {
    check(
        "type work follows distributed
         0     ann create work a
         0     w1  claim start
         1     w1  upload a p/1          => nothing
         200   w1  upload a p/1 on       => lease_conflict lost
         200   w1  asset a picture path=p/1 => lease_conflict lost
         200   -   assets a              => ",
    );
}

#[test]
fn an_upload_keeps_its_lease_alive() {
    check(
        "type work follows distributed lease=60s heartbeat=30s
         0     ann create work a
         0     w1  claim start
         0     w1  upload a p/1
         35    w1  upload a p/1 on
         70    w1  upload a p/1 on
         90    w1  asset a picture path=p/1 => asset of type picture
         90    -   garbage               => ",
    );
}

#[test]
fn an_object_must_be_announced_before_and_in_time() {
    check(
        "type work follows distributed
         0     ann create work a
         0     ann asset a picture path=p/1 => not_found
         0     ann upload a p/1 on       => not_found
         0     ann upload a p/1          => nothing
         0     -   garbage               => p/1@60
         30    ann upload a p/1 on       => nothing
         30    -   garbage               => p/1@90
         70    ann asset a picture path=p/1 => asset of type picture
         70    -   garbage               =>
         70    ann upload a p/2
         111   ann asset a picture path=p/2 => not_found
         111   ann upload a p/2 on       => not_found
         111   -   garbage               => p/2@130",
    );
}

#[test]
fn a_hard_cancel_discards_earlier_assets() {
    check(
        "type work follows distributed
         0     ann create work a
         0     ann asset a plan
         1     ann cancel a hard         => cancelled
         2     ann asset a note
         2     -   assets a              => plan@0 discarded@1 > note@2
         3     ann create work b
         3     ann asset b plan
         4     ann cancel b              => cancelled
         4     -   assets b              => plan@3",
    );
}

#[test]
fn a_cancel_whose_grace_is_over_discards_too() {
    check(
        "type work follows distributed cancel_grace=10s
         0     ann create work a
         0     w1  claim start
         1     w1  asset a picture
         10    ann cancel a              => hard 20
         21    ann asset a note
         21    -   assets a              => picture@1 discarded@20 > note@21",
    );
}

#[test]
fn an_asset_under_a_key_is_added_once() {
    check(
        "type work follows distributed
         0     ann create work a
         0     ann asset a plan key=k    => not replayed
         1     ann asset a plan key=k    => replayed
         1     ann asset a plan key=k body=other => idempotency_mismatch
         1     -   assets a              => plan@0",
    );
}
