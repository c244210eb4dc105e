//! The rules, without waiting for the conditions.

use tenure_core::job_type::JobType;
use tenure_core::lifecycle::{Lifecycle, Outcome};
use tenure_store::Gauges;

use super::*;
use crate::assemble::SnapshotInputs;
use crate::counters::{Counted, QueueCounts, TransitionCount, TypeCounts};
use crate::minute_ring::MinuteRing;
use crate::read::{Held, Live, Sample};
use crate::snapshot::{Pause, Percentiles};

const NOW: Timestamp = Timestamp(1_000_000_000);

/// Three queued jobs of type `a`, the oldest for the given time, and nothing else.
struct Fixture {
    catalog: Catalog,
    live: Live,
    held: Held,
    sample: Sample,
    counted: Counted,
    peers: Peers,
    thresholds: AttentionThresholds,
    commit_us: Percentiles,
    idle: usize,
}

impl Fixture {
    fn queued_for(millis: i64) -> Self {
        let mut catalog = Catalog::default();
        let distributed = Lifecycle::built_in().into_iter().find(|it| it.name == "distributed").unwrap();
        catalog.add_lifecycle(distributed.clone());
        for name in ["a", "b"] {
            catalog.add_type(JobType::following(name, &distributed)).unwrap();
        }
        let (queue, job_type) = (QueueName::from("default"), TypeName::from("a"));
        let (lifecycle, state) = (LifecycleName::from("distributed"), StateName::from("queued"));
        let count = Count { lifecycle, job_type: job_type.clone(), queue: queue.clone(), state, count: 3 };
        let oldest_ready = vec![OldestReady { queue, job_type, since: Timestamp(NOW.0 - millis) }];
        let gauges = Gauges { jobs: vec![count], oldest_ready, ..Gauges::default() };
        Self {
            catalog,
            live: Live { now: NOW, gauges, paused: Vec::new() },
            held: Held::default(),
            sample: Sample::default(),
            counted: Counted::default(),
            peers: Peers::default(),
            thresholds: AttentionThresholds::default(),
            commit_us: Percentiles::default(),
            idle: 1,
        }
    }

    /// Two jobs of `a` succeeded and this many failed, a minute ago.
    fn ended(mut self, succeeded: u32, failed: u32) -> Self {
        let mut steps = Vec::new();
        for (count, outcome) in [(succeeded, Outcome::Succeeded), (failed, Outcome::Dead)] {
            let mut minutes = MinuteRing::default();
            minutes.add(NOW.minute() - 1, count);
            let (from, to) = (Some("running".into()), outcome.as_str().into());
            steps.push(TransitionCount { from, trigger: Trigger::Fail, to, outcome: Some(outcome), minutes });
        }
        let types = self.counted.lifecycles.entry("distributed".into()).or_default();
        types.insert("a".into(), TypeCounts { steps, ..TypeCounts::default() });
        self
    }

    fn found(&self) -> Vec<Attention> {
        let Self { catalog, live, held, sample, counted, .. } = self;
        let inputs = SnapshotInputs { catalog, now: NOW, live, held, sample, counted };
        let idle = |_: &QueueName, _: &TypeName| self.idle;
        let queues = inputs.queues();
        let trends: Vec<_> = queues.iter().map(|queue| inputs.queue_trend(queue, None)).collect();
        let store = StoreNow {
            kind: "memory",
            commands_per_commit: Percentiles::default(),
            commit_us: self.commit_us,
            queued_commands: 0,
        };
        let judged = Judged {
            inputs: &inputs,
            thresholds: &self.thresholds,
            lifecycles: &inputs.lifecycles(&[]),
            types: &inputs.types(idle),
            failures: &inputs.failures(),
            queues: &queues,
            trends: &trends,
            nodes: &[],
            peers: &self.peers,
            store: &store,
        };
        judge(&judged, idle)
    }

    fn kinds(&self) -> Vec<AttentionKind> {
        self.found().into_iter().map(|found| found.what).collect()
    }
}

#[test]
fn ready_jobs_without_a_worker_are_reported_after_a_minute() {
    let queued = |millis| Fixture { idle: 0, ..Fixture::queued_for(millis) };
    let found = queued(60_001).found();
    assert_eq!(found[0].text, "3 ready jobs of type a in queue default, but no worker claims them");
    assert_eq!(found.len(), 1);
    assert!(queued(60_000).found().is_empty(), "within the grace period");
    assert!(Fixture::queued_for(60_001).found().is_empty(), "a claim waits");
    let mut fixture = queued(60_001);
    fixture.held.workers.entry("a".into()).or_default().insert("w".into());
    assert!(fixture.found().is_empty(), "a worker holds such a job");
    let mut fixture = queued(60_001);
    fixture.live.paused.push("default".into());
    assert_eq!(fixture.kinds(), [AttentionKind::PausedQueue], "the paused queue is reported instead");
}

#[test]
fn an_old_ready_job_is_reported_although_workers_are_busy() {
    let limit = AttentionThresholds::default().oldest_ready.0 as i64;
    assert_eq!(Fixture::queued_for(limit + 1).kinds(), [AttentionKind::OldReady]);
    assert!(Fixture::queued_for(limit).found().is_empty());
}

#[test]
fn a_state_is_judged_by_what_is_usual_for_each_type() {
    let running = |job_type: &str, p95: Option<u64>, millis: i64| {
        let mut fixture = Fixture::queued_for(0);
        let key = |job_type: &str| {
            (LifecycleName::from("distributed"), TypeName::from(job_type), StateName::from("running"))
        };
        fixture.held.oldest.insert(key(job_type), Timestamp(NOW.0 - millis));
        // Jobs of the other type are quick.
        let spans = |p95| Percentiles { p95: Some(p95), ..Percentiles::default() };
        fixture.sample.type_states.insert(key("b"), spans(10));
        fixture.sample.type_states.extend(p95.map(|p95| (key(job_type), spans(p95))));
        fixture.kinds()
    };
    assert_eq!(running("a", Some(10_000), 100_001), [AttentionKind::Overlong]);
    assert!(running("a", Some(10_000), 100_000).is_empty());
    assert!(running("a", Some(1_800_000), 3_600_000).is_empty(), "long imports are usual for this type");
    assert!(running("a", None, 3_600_000).is_empty(), "no sample of this type");
    assert!(running("b", None, 60_000).is_empty(), "within the grace period");
    assert_eq!(running("b", None, 60_001), [AttentionKind::Overlong]);
}

#[test]
fn a_type_that_fails_often_is_reported_with_its_rate() {
    let found = Fixture::queued_for(0).ended(185_417, 14_583).found();
    let text = "7.3 % of the jobs of type a failed in the last hour: 14,583 of 200,000";
    assert_eq!((found[0].text.as_str(), found[0].severity), (text, Severity::Warning));
    assert_eq!(Fixture::queued_for(0).ended(3, 3).found()[0].severity, Severity::Critical);
    assert!(Fixture::queued_for(0).ended(0, 2).found().is_empty(), "too few to judge");
    assert!(Fixture::queued_for(0).ended(1000, 3).found().is_empty(), "a small share");
    let mut strict = Fixture::queued_for(0).ended(1000, 3);
    strict.thresholds.failure_percent = 0;
    assert_eq!(strict.kinds(), [AttentionKind::FailingType], "the threshold is configurable");
}

#[test]
fn a_backlog_is_reported_unless_it_drains_in_time() {
    let backlog = |ready: u64, left: u32| {
        let mut fixture = Fixture::queued_for(0);
        fixture.live.gauges.jobs[0].count = ready;
        let mut counts = QueueCounts::default();
        (1..=5).for_each(|ago| counts.left.add(NOW.minute() - 6 + ago, left));
        fixture.counted.queues.insert("default".into(), counts);
        fixture.found().into_iter().map(|found| found.text).collect::<Vec<_>>()
    };
    assert!(backlog(99, 0).is_empty(), "a small queue");
    assert!(backlog(6000, 100).is_empty(), "drains in an hour");
    let stuck = "queue default has 100 ready jobs and does not drain: 0.0/min in, 0.0/min out";
    assert_eq!(backlog(100, 0), [stuck]);
    assert_eq!(backlog(6100, 100), ["queue default has 6,100 ready jobs and needs 61 min to drain"]);
}

#[test]
fn a_long_pause_is_reported_first() {
    let mut fixture = Fixture::queued_for(0).ended(9, 3);
    fixture.live.paused.push("default".into());
    let since = Timestamp(NOW.0 - 3_600_001);
    fixture.peers.pauses.insert("default".into(), Pause { since, by: "operator:ops".to_owned() });
    let found = fixture.found();
    assert_eq!(found[0].text, "queue default is paused by operator:ops, with 3 ready jobs");
    assert_eq!((found[0].severity, found[1].what), (Severity::Critical, AttentionKind::FailingType));
    fixture.live.gauges.jobs.clear();
    fixture.live.gauges.oldest_ready.clear();
    assert!(fixture.kinds().contains(&AttentionKind::PausedQueue), "also without jobs");
}

#[test]
fn slow_commits_and_lost_leases_are_reported() {
    let mut fixture = Fixture::queued_for(0);
    fixture.commit_us.p95 = Some(1_000_000);
    let mut minutes = MinuteRing::default();
    minutes.add(NOW.minute(), 5);
    let (from, to, trigger) = (Some("running".into()), "queued".into(), Trigger::LeaseExpired);
    let steps = vec![TransitionCount { from, trigger, to, outcome: None, minutes }];
    let types = fixture.counted.lifecycles.entry("distributed".into()).or_default();
    types.insert("a".into(), TypeCounts { steps, ..TypeCounts::default() });
    assert_eq!(fixture.kinds(), [AttentionKind::LostLeases, AttentionKind::SlowStore]);
}
