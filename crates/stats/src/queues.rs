//! Job counts of each queue, by phase.

use std::collections::BTreeMap;

use crate::prelude::*;
use crate::snapshot::QueueNow;

/// Every queue that a type names, that is paused, or that has a live job; by name.
pub fn queues(catalog: &Catalog, paused: &[QueueName], live: &[Count]) -> Vec<QueueNow> {
    let mut queues: BTreeMap<QueueName, QueueNow> = BTreeMap::new();
    let empty = |name: &QueueName| QueueNow {
        name: name.clone(),
        paused: paused.contains(name),
        ready: 0,
        running: 0,
        waiting: 0,
    };
    let named = catalog.types().map(|job_type| &job_type.queue).chain(paused);
    for name in named.chain(live.iter().map(|count| &count.queue)) {
        queues.entry(name.clone()).or_insert_with(|| empty(name));
    }
    for count in live {
        let queue = queues.get_mut(&count.queue).expect("every queue of a count was entered");
        match phase_of(catalog, &count.lifecycle, &count.state) {
            Some(Phase::Ready) => queue.ready += count.count,
            Some(Phase::Waiting) => queue.waiting += count.count,
            Some(Phase::Held | Phase::Active | Phase::Final(_)) | None => queue.running += count.count,
        }
    }
    queues.into_values().collect()
}

/// Phase of a state, by the newest version of the lifecycle that has it.
pub fn phase_of(catalog: &Catalog, lifecycle: &LifecycleName, state: &StateName) -> Option<Phase> {
    let versions = catalog.lifecycles().filter(|it| it.name == *lifecycle);
    versions.filter_map(|it| it.state(state.as_str())).last().map(|state| state.phase)
}
