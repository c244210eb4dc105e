//! An operator of flow control: overrides limits, pauses and resumes resources, and resumes halted sequences. After the faults,
//! nothing is overridden, paused or halted, so that the run can end.

use std::rc::Rc;
use std::time::Duration;

use tenure_core::command::ResourceChange;
use tenure_core::flow::{LimitOverride, Rate, SequenceId};
use tenure_store::SequenceFilter;
use tokio::time::sleep;

use crate::cluster::Cluster;
use crate::fixtures::flow::RESOURCES;
use crate::network::Request;
use crate::prelude::*;
use crate::ready;
use crate::rng::Rng;
use crate::workload::submit;

const BY: &str = "operator:flo";

pub(super) async fn run(cluster: Rc<Cluster>, mut rng: Rng) {
    while !cluster.faults_ended() {
        let pause = rng.between(1500, 9000);
        sleep(Duration::from_millis(pause)).await;
        let halted = halted(&cluster);
        let request = if !halted.is_empty() && rng.percent(40) {
            submit(BY, None, Command::ResumeSequence(rng.pick(&halted)))
        } else {
            let resource = rng.pick(&["api", "gpu"]);
            let change = draw(&mut rng, resource);
            change_of(resource, change)
        };
        cluster.send(&mut rng, request).await;
    }
    for rules in &RESOURCES {
        for change in [ResourceChange::Reset, ResourceChange::Resume { key: None }] {
            until_answered(&cluster, &mut rng, change_of(rules.name, change)).await;
        }
    }
    loop {
        for id in halted(&cluster) {
            cluster.send(&mut rng, submit(BY, None, Command::ResumeSequence(id))).await;
        }
        // Workers may have paused them again.
        for rules in &RESOURCES {
            cluster.send(&mut rng, change_of(rules.name, ResourceChange::Resume { key: None })).await;
        }
        sleep(Duration::from_millis(1500)).await;
    }
}

async fn until_answered(cluster: &Rc<Cluster>, rng: &mut Rng, request: Request) {
    while !matches!(cluster.send(rng, request.clone()).await, Some(Ok(_))) {
        sleep(Duration::from_millis(300)).await;
    }
}

fn change_of(resource: &str, change: ResourceChange) -> Request {
    submit(BY, None, Command::ChangeResource { resource: resource.into(), change })
}

fn draw(rng: &mut Rng, resource: &str) -> ResourceChange {
    let key = (resource == "api" && rng.percent(50)).then(|| rng.pick(&["7", "main"]).into());
    match rng.between(0, 9) {
        0..=4 => ResourceChange::Set(limits(rng)),
        5 => ResourceChange::Reset,
        6..=7 => {
            let span = rng.percent(75).then(|| Millis(rng.between(200, 6000)));
            ResourceChange::Pause { key, span }
        }
        _ => ResourceChange::Resume { key },
    }
}

/// New limits, some of which no job could ever meet: those are refused.
fn limits(rng: &mut Rng) -> LimitOverride {
    let count = rng.between(1, 2);
    let rate = Rate { count, per: Millis(rng.between(1000, 6000)), burst: rng.between(1, 3) };
    LimitOverride {
        running: rng.percent(60).then(|| rng.percent(85).then(|| rng.between(1, 4))),
        rate: rng.percent(40).then(|| rng.percent(85).then_some(rate)),
        waiting: rng.percent(20).then(|| rng.percent(85).then(|| rng.between(2, 8))),
    }
}

fn halted(cluster: &Cluster) -> Vec<SequenceId> {
    let filter = SequenceFilter { halted: true, limit: 20, ..SequenceFilter::default() };
    let rows = ready(cluster.store.handle().sequences(filter)).unwrap_or_default();
    rows.into_iter().map(|row| row.id).collect()
}
