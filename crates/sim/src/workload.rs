//! The workload: users create, amend, cancel, retry and signal jobs; workers claim, work, upload, pause and crash; operators
//! change schedules, webhooks and resources, and resume sequences. None keeps to the protocol, except the tasks of the nodes.

mod flow_operator;
mod node_tasks;
mod operator;
mod user;
mod worker;

use std::rc::Rc;

use tenure_core::command::IdempotencyKey;
use tokio::task::JoinSet;

use crate::cluster::Cluster;
use crate::fixtures::{USERS, WEBHOOKS};
use crate::network::Request;
use crate::prelude::*;
use crate::rng::Rng;

const WORKERS: u64 = 5;

pub(crate) fn spawn(cluster: &Rc<Cluster>, rng: &mut Rng, tasks: &mut JoinSet<()>) {
    for user in USERS {
        tasks.spawn_local(user::run(Rc::clone(cluster), rng.fork(), user));
    }
    tasks.spawn_local(operator::run(Rc::clone(cluster), rng.fork()));
    tasks.spawn_local(flow_operator::run(Rc::clone(cluster), rng.fork()));
    for index in 0..cluster.nodes.len() {
        for webhook in WEBHOOKS {
            tasks.spawn_local(node_tasks::send_webhook(Rc::clone(cluster), rng.fork(), index, webhook));
        }
        tasks.spawn_local(node_tasks::delete_garbage(Rc::clone(cluster), index));
    }
    for number in 1..=WORKERS {
        tasks.spawn_local(worker::run(Rc::clone(cluster), rng.fork(), format!("w{number}").as_str().into()));
    }
}

fn submit(by: &str, key: Option<IdempotencyKey>, command: Command) -> Request {
    Request::Submit(CommandEnvelope { by: by.into(), key, command })
}

/// An idempotency key of a request with this body.
fn key(text: &str, body: &str) -> IdempotencyKey {
    IdempotencyKey { key: Name::from(text), fingerprint: Json::of(&body).digest() }
}
