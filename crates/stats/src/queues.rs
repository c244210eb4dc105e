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

/// The same with the queues that were in use in the last hour, so that a queue does not vanish while it is empty.
pub(crate) fn with_recent<'a>(
    mut queues: Vec<QueueNow>,
    recent: impl IntoIterator<Item = &'a QueueName>,
) -> Vec<QueueNow> {
    for name in recent {
        if let Err(place) = queues.binary_search_by(|queue| queue.name.cmp(name)) {
            let empty = QueueNow { name: name.clone(), paused: false, ready: 0, running: 0, waiting: 0 };
            queues.insert(place, empty);
        }
    }
    queues
}

/// Phase of a state, by the newest version of the lifecycle that has it.
pub fn phase_of(catalog: &Catalog, lifecycle: &LifecycleName, state: &StateName) -> Option<Phase> {
    let versions = catalog.lifecycles().filter(|it| it.name == *lifecycle);
    versions.filter_map(|it| it.state(state.as_str())).last().map(|state| state.phase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_was_used_is_listed_while_it_is_empty() {
        let live = Count {
            lifecycle: "distributed".into(),
            job_type: "a".into(),
            queue: "b".into(),
            state: "queued".into(),
            count: 2,
        };
        let queues = queues(&Catalog::default(), &["d".into()], &[live]);
        let recent: [QueueName; 3] = ["c", "b", "a"].map(Into::into);
        let all = with_recent(queues, &recent);
        let names: Vec<_> = all.iter().map(|queue| queue.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        assert_eq!((all[1].running, all[3].paused), (2, true), "those before are unchanged");
    }
}
