//! Who asks: callers who create, cancel, retry and signal, and workers who claim, work, sleep, die and come back. None of
//! them is asked to behave.

mod caller;
mod worker;

use std::rc::Rc;

use tenure_core::command::{Asked, Command, GivenKey};
use tenure_core::id::{Actor, Name};
use tenure_core::json::Json;
use tokio::task::JoinSet;

use crate::cast::USERS;
use crate::chance::Chance;
use crate::network::Request;
use crate::world::World;

/// How many workers there are.
const WORKERS: u64 = 5;

/// Lets everyone begin.
pub(crate) fn begin(world: &Rc<World>, chance: &mut Chance, everyone: &mut JoinSet<()>) {
    for user in USERS {
        everyone.spawn_local(caller::live(Rc::clone(world), chance.fork(), user));
    }
    for number in 1..=WORKERS {
        everyone.spawn_local(worker::live(
            Rc::clone(world),
            chance.fork(),
            format!("w{number}").as_str().into(),
        ));
    }
}

fn ask(by: &str, key: Option<GivenKey>, command: Command) -> Request {
    Request::Ask(Asked { by: Actor::from(by), key, command })
}

/// A key for a verb, whose body is the text.
fn key(text: &str, body: &str) -> GivenKey {
    GivenKey { key: Name::from(text), fingerprint: Json::of(&body).digest() }
}
