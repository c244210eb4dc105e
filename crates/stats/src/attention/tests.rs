//! The rules, without waiting for the conditions.

use tenure_core::flow::SequenceId;
use tenure_core::job_type::JobType;
use tenure_core::lifecycle::{Lifecycle, Outcome};
use tenure_store::{Gauges, SequenceReport};

use super::*;
use crate::assemble::SnapshotInputs;
use crate::clock_steps::ClockStep;
use crate::counters::{Counted, QueueCounts, TransitionCount, TypeCounts};
use crate::minute_ring::MinuteRing;
use crate::read::{Held, Holder, Live, PausedResource, Sample};
use crate::snapshot::{NodeLife, Pause, Percentiles};

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
    nodes: Vec<NodeNow>,
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
            nodes: Vec::new(),
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
            nodes: &self.nodes,
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

fn node(address: &str, life: NodeLife, started: i64, seen: i64) -> NodeNow {
    NodeNow {
        id: format!("{address}-{started}").as_str().into(),
        address: address.to_owned(),
        version: "1".to_owned(),
        started_at: Timestamp(NOW.0 - started),
        seen_at: Timestamp(NOW.0 - seen),
        own: false,
        life,
    }
}

#[test]
fn a_node_that_was_started_again_is_a_warning_for_a_quarter_of_an_hour() {
    const MINUTE: i64 = 60_000;
    let found = |nodes: Vec<NodeNow>| {
        let found = Fixture { nodes, ..Fixture::queued_for(0) }.found();
        found.into_iter().map(|found| (found.what, found.severity, found.text)).collect::<Vec<_>>()
    };
    let gone = || node("a:1", NodeLife::Gone, 50 * MINUTE, 16 * MINUTE);
    let stopped = |kind, severity, text: &str| [(kind, severity, text.to_owned())];
    let missing = stopped(AttentionKind::NodeGone, Severity::Critical, "node a:1 stopped reporting");
    assert_eq!(found(vec![gone()]), missing);
    assert_eq!(found(vec![gone(), node("b:1", NodeLife::Live, MINUTE, 0)]), missing, "another node");
    assert_eq!(found(vec![gone(), node("a:1", NodeLife::Live, 60 * MINUTE, 0)]), missing, "an earlier start");
    assert_eq!(found(vec![gone(), node("a:1", NodeLife::Stopped, MINUTE, 0)]), missing, "it stopped again");
    assert_eq!(
        found(vec![gone(), node("a:1", NodeLife::Live, 40 * MINUTE, 0)]),
        missing,
        "another, as both listen at 0.0.0.0"
    );
    let again = stopped(AttentionKind::NodeRestarted, Severity::Warning, "node a:1 crashed and restarted");
    assert_eq!(found(vec![gone(), node("a:1", NodeLife::Live, 15 * MINUTE, 0)]), again);
    assert_eq!(found(vec![gone(), node("a:1", NodeLife::Live, 15 * MINUTE + 1, 0)]), []);
}

#[test]
fn halted_sequences_are_critical() {
    let halted = |key: &str, ago: i64| SequenceReport {
        id: SequenceId { job_type: "mail".into(), key: key.into() },
        waiting: 2,
        first: None,
        halted: Some((JobId::new(0, 0), Timestamp(NOW.0 - ago))),
    };
    let mut fixture = Fixture::queued_for(0);
    fixture.peers.halted = vec![halted("ada", 1000)];
    let found = fixture.found();
    assert_eq!(
        found[0].text,
        "the sequence ada of type mail is halted by a failed job, with 2 unfinished jobs"
    );
    assert_eq!((found[0].severity, &found[0].subject), (Severity::Critical, &Subject::Resources));
    fixture.peers.halted.push(halted("bob", 2000));
    let found = fixture.found();
    let text = "2 sequences are halted by failed jobs, with 4 unfinished jobs; the first is bob of type mail";
    assert_eq!((found[0].text.as_str(), found[0].since), (text, Some(Timestamp(NOW.0 - 2000))));
}

#[test]
fn a_resource_that_is_paused_for_long_is_reported() {
    let limit = AttentionThresholds::default().pause.0 as i64;
    let paused = |ago: i64| {
        let pause =
            tenure_core::flow::Pause { until: None, by: "operator:ops".into(), at: Timestamp(NOW.0 - ago) };
        let mut fixture = Fixture::queued_for(0);
        fixture.peers.paused_resources = vec![PausedResource { name: "relay[ada]".to_owned(), pause }];
        fixture.found()
    };
    let found = paused(limit + 1);
    assert_eq!(found[0].text, "resource relay[ada] is paused by operator:ops");
    assert_eq!((found[0].what, &found[0].subject), (AttentionKind::PausedResource, &Subject::Resources));
    assert_eq!(paused(limit), []);
}

#[test]
fn a_silent_worker_with_jobs_is_reported() {
    let silent = |lease: u64, silence: i64| {
        let mut fixture = Fixture::queued_for(0);
        fixture.held.holders.insert("w1".into(), Holder { jobs: 3, lease: Millis(lease) });
        fixture.peers.workers.insert("w1".into(), Timestamp(NOW.0 - silence));
        fixture.peers.workers.insert("w2".into(), Timestamp(0));
        fixture.found()
    };
    let found = silent(60_000, 360_001);
    assert_eq!((found[0].text.as_str(), found.len()), ("worker w1 is silent and holds 3 jobs", 1));
    assert_eq!(silent(60_000, 360_000), [], "its claim may wait");
    assert_eq!(silent(3_600_000, 1_860_000), [], "its lease is long");
    assert_eq!(silent(3_600_000, 1_860_001)[0].what, AttentionKind::LostWorker);
}

#[test]
fn a_step_of_the_clock_is_reported_for_an_hour() {
    let step = |ago: i64| {
        let mut fixture = Fixture::queued_for(0);
        fixture.peers.clock_step = Some(ClockStep { at: Timestamp(NOW.0 - ago), by: Millis(120_000) });
        fixture.kinds()
    };
    assert_eq!(step(3_600_000), [AttentionKind::ClockStep]);
    assert_eq!(step(3_600_001), []);
}
