//! Conditions that are reported after a minute, without waiting for it.

use std::collections::BTreeMap;

use tenure_core::job_type::JobType;
use tenure_core::lifecycle::Lifecycle;

use super::*;
use crate::counters::Counted;
use crate::read::{Held, Live, Sample};
use crate::snapshot::Percentiles;

const NOW: Timestamp = Timestamp(1_000_000_000);

/// Three queued jobs, the oldest for the given time, and nothing else.
struct Fixture {
    catalog: Catalog,
    live: Live,
    held: Held,
    sample: Sample,
    counted: Counted,
}

impl Fixture {
    fn queued_for(millis: i64) -> Self {
        let mut catalog = Catalog::default();
        let distributed = Lifecycle::built_in().into_iter().find(|it| it.name == "distributed").unwrap();
        catalog.add_type(JobType::following("a", &distributed)).unwrap_err();
        catalog.add_lifecycle(distributed.clone());
        catalog.add_type(JobType::following("a", &distributed)).unwrap();
        let (queue, job_type) = (QueueName::from("default"), TypeName::from("a"));
        let (lifecycle, state) = (LifecycleName::from("distributed"), StateName::from("queued"));
        let count = Count { lifecycle, job_type: job_type.clone(), queue: queue.clone(), state, count: 3 };
        let oldest_ready = vec![OldestReady { queue, job_type, since: Timestamp(NOW.0 - millis) }];
        let gauges = Gauges { jobs: vec![count], oldest_ready, ..Gauges::default() };
        let sample = Sample { states: BTreeMap::new(), types: BTreeMap::new(), recent: Vec::new() };
        let live = Live { now: NOW, gauges, paused: Vec::new() };
        Self { catalog, live, held: Held::default(), sample, counted: Counted::default() }
    }

    fn inputs(&self) -> SnapshotInputs<'_> {
        let Self { catalog, live, held, sample, counted } = self;
        SnapshotInputs { catalog, now: NOW, live, held, sample, counted }
    }

    fn unclaimed(&self, idle: usize) -> Vec<String> {
        of_ready(&self.inputs(), |_, _| idle).into_iter().map(|found| found.text).collect()
    }

    fn overlong(&self) -> Vec<Subject> {
        let lifecycles = self.inputs().lifecycles(&[]);
        of_states(&lifecycles, NOW, false).into_iter().map(|found| found.subject).collect()
    }
}

#[test]
fn ready_jobs_without_a_worker_are_reported_after_a_minute() {
    let fixture = Fixture::queued_for(60_001);
    let text = "3 ready jobs of type a in queue default, but no worker claims them";
    assert_eq!(fixture.unclaimed(0), [text]);
    assert!(fixture.unclaimed(1).is_empty(), "a claim waits");
    assert!(Fixture::queued_for(60_000).unclaimed(0).is_empty(), "within the grace period");
    let mut fixture = Fixture::queued_for(60_001);
    fixture.held.workers.entry("a".into()).or_default().insert("w".into());
    assert!(fixture.unclaimed(0).is_empty(), "a worker holds such a job");
    let mut fixture = Fixture::queued_for(60_001);
    fixture.live.paused.push("default".into());
    assert!(fixture.unclaimed(0).is_empty(), "the paused queue is reported instead");
}

#[test]
fn a_state_is_reported_when_its_oldest_job_is_far_past_its_usual_time() {
    let usually = |p95, queued_for| {
        let mut fixture = Fixture::queued_for(queued_for);
        let spans = Percentiles { p95: Some(p95), ..Percentiles::default() };
        fixture.sample.states.insert(("distributed".into(), "queued".into()), spans);
        fixture.overlong()
    };
    let queued = Subject::State { lifecycle: "distributed".into(), state: "queued".into() };
    assert_eq!(usually(10_000, 100_001), [queued]);
    assert!(usually(10_000, 100_000).is_empty());
    assert_eq!(usually(10, 60_001).len(), 1);
    assert!(usually(10, 60_000).is_empty(), "within the grace period");
    assert!(Fixture::queued_for(1_000_000).overlong().is_empty(), "no sample to compare with");
}
