//! Tests of the search by example: groups, gates, shares, and forgotten buckets.

use tenure_core::flow::{
    Batch, Declarations, LimitOverride, Limits, QueueFlow, Rate, Resource, Share, TokenLevel, TypeFlow,
};

use super::reference::{NOW, used};
use super::search::Places;
use super::*;

fn embedding(number: u64, run_at: i64, key: &str) -> ReadyEntry {
    let batch = Some(BatchKey { key: Some(key.into()) });
    ReadyEntry {
        id: JobId::new(1, number.into()),
        queue: "q".into(),
        job_type: "embed".into(),
        priority: 0,
        run_at: Timestamp(run_at),
        is_new: true,
        flow: Arc::new(FlowKeys { batch, ..FlowKeys::default() }),
    }
}

fn groups_of(size: u64, wait: u64) -> ClaimIndex {
    let batch = Batch { size, wait: Millis(wait), key: Some("payload.model".to_owned()) };
    let types = [("embed".into(), TypeFlow { batch: Some(batch), ..TypeFlow::default() })].into();
    let declarations = Arc::new(Declarations { types, ..Declarations::default() });
    ClaimIndex::with_state(Arc::new(FlowState { declarations, ..FlowState::default() }))
}

#[test]
fn groups_are_whole_or_as_old_as_declared() {
    let mut index = groups_of(3, 100);
    let jobs: Vec<ReadyEntry> =
        (0..5).map(|n| embedding(n, n as i64, if n == 4 { "b" } else { "a" })).collect();
    for job in &jobs {
        index.insert(job);
    }
    index.promote(Timestamp(10), |id| jobs.iter().find(|job| job.id == id).cloned());
    let next = |index: &ClaimIndex, now: i64| index.next_run(|_| true, Timestamp(now)).map(|(at, _)| at.0);
    assert_eq!(next(&index, 10), Some(100), "when the oldest of key a has waited");
    assert_eq!(next(&index, 100), Some(104), "when that of key b has");
    assert_eq!(
        index.claimable(|_| Some(9), 1, Timestamp(10)),
        [(("q".into(), "embed".into()), 1)],
        "a whole group"
    );
    let mut sizes = |claims: &[u32], now: i64| -> Vec<Option<usize>> {
        index.promote(Timestamp(now), |id| jobs.iter().find(|job| job.id == id).cloned());
        let wanted = Wanted { places: Places::Admitted(&|_| true), claims, now: Timestamp(now) };
        index.search(&wanted).iter().map(|candidate| candidate.group.map(|group| group.size)).collect()
    };
    assert_eq!(sizes(&[9], 10), [Some(3); 3], "one whole group of key a; the others wait");
    assert_eq!(sizes(&[2], 10), [Some(2); 2], "as many as the claim takes");
    assert_eq!(
        sizes(&[9], 100),
        [Some(3), Some(3), Some(3)],
        "the fourth of key a is not the oldest one yet"
    );
    assert_eq!(sizes(&[9], 103).len(), 4, "the rest of key a after its wait");
    assert_eq!(sizes(&[9], 104).len(), 5);
    assert_eq!(sizes(&[1, 1], 10).len(), 2);
    assert_eq!(sizes(&[4, 4], 3).len(), 3, "one whole group");
    assert_eq!(
        sizes(&[2, 1, 1], 10),
        [Some(2), Some(2), Some(1), Some(1)],
        "smaller claims take smaller groups"
    );
}

#[test]
fn a_group_that_is_incomplete_for_one_claim_wakes_a_smaller_one() {
    let mut index = groups_of(9, 100);
    let jobs: Vec<ReadyEntry> = (0..2).map(|n| embedding(n, 0, "a")).collect();
    for job in &jobs {
        index.insert(job);
    }
    index.promote(Timestamp(10), |id| jobs.iter().find(|job| job.id == id).cloned());
    let wanted = Wanted { places: Places::Admitted(&|_| true), claims: &[9, 2], now: Timestamp(10) };
    assert!(index.search(&wanted).is_empty(), "the first claim would take what is whole only for the second");
    assert_eq!(index.claimable(|_| Some(9), 5, Timestamp(10)), [], "no claim is woken for it");
    assert_eq!(index.claimable(|_| Some(2), 5, Timestamp(10)), [(("q".into(), "embed".into()), 2)]);
}

#[test]
fn a_group_has_the_jobs_that_come_first_by_share() {
    let batch = Batch { size: 2, wait: Millis(100), key: None };
    let types = [("embed".into(), TypeFlow { batch: Some(batch), ..TypeFlow::default() })].into();
    let share = Share { key: "user_id".to_owned(), weights: BTreeMap::new(), default_weight: 1 };
    let queues = [("q".into(), QueueFlow { share: Some(share), aging: None })].into();
    let declarations = Arc::new(Declarations { types, queues, ..Declarations::default() });
    let mut index = ClaimIndex::with_state(Arc::new(FlowState { declarations, ..FlowState::default() }));
    let of = |n: u64, share: &str| {
        let batch = Some(BatchKey { key: None });
        let flow = FlowKeys { batch, share: Some(share.into()), ..FlowKeys::default() };
        ReadyEntry { flow: Arc::new(flow), ..embedding(n, n as i64, "") }
    };
    let mut jobs: Vec<ReadyEntry> = (0..10).map(|n| of(n, "s0")).collect();
    jobs.push(of(10, "s1"));
    for job in &jobs {
        index.insert(job);
    }
    index.moved(None, Some(&used(&of(11, "s0"), true)));
    index.promote(NOW, |id| jobs.iter().find(|job| job.id == id).cloned());
    let wanted = Wanted { places: Places::Admitted(&|_| true), claims: &[2], now: NOW };
    let found: Vec<JobId> = index.search(&wanted).iter().map(|candidate| candidate.id).collect();
    assert_eq!(found, [jobs[10].id, jobs[0].id], "the key without a lease first");
}

#[test]
fn an_explanation_names_the_other_keys_of_a_shared_queue() {
    let share = Share { key: "user_id".to_owned(), weights: BTreeMap::new(), default_weight: 1 };
    let queues = [("q".into(), QueueFlow { share: Some(share), aging: None })].into();
    let declarations = Arc::new(Declarations { queues, ..Declarations::default() });
    let mut index = ClaimIndex::with_state(Arc::new(FlowState { declarations, ..FlowState::default() }));
    let of = |n: u64, share: &str| {
        let flow = FlowKeys { share: Some(share.into()), ..FlowKeys::default() };
        ReadyEntry { flow: Arc::new(flow), ..embedding(n, n as i64, "") }
    };
    let jobs = [of(1, "busy"), of(2, "idle")];
    for job in &jobs {
        index.insert(job);
    }
    index.moved(None, Some(&used(&of(3, "busy"), true)));
    index.promote(NOW, |id| jobs.iter().find(|job| job.id == id).cloned());
    let (load, before) = index.ahead_by_share(&jobs[0], NOW).expect("the other key comes first");
    assert_eq!((load.leases, load.weight, before), (1, 1, 1));
    assert!(index.ahead_by_share(&jobs[1], NOW).is_none());
}

#[test]
fn a_job_with_the_batch_key_of_an_earlier_declaration_delays_no_other() {
    let limits = Limits { running: Some(1), ..Limits::default() };
    let resources = [("gpu".into(), Resource { key: None, limits })].into();
    let declarations = Arc::new(Declarations { resources, ..Declarations::default() });
    let mut index = ClaimIndex::with_state(Arc::new(FlowState { declarations, ..FlowState::default() }));
    let gpu = vec![ResourceUse { resource: "gpu".into(), key: None, units: 1 }];
    let batch = Some(BatchKey { key: None });
    let stored = FlowKeys { batch, resources: gpu, ..FlowKeys::default() };
    let blocked = ReadyEntry { flow: Arc::new(stored), ..embedding(1, 0, "") };
    let free = ReadyEntry { flow: Arc::default(), ..embedding(2, 1, "") };
    index.moved(None, Some(&used(&blocked, true)));
    index.insert(&blocked);
    index.insert(&free);
    index.promote(NOW, |id| [&blocked, &free].into_iter().find(|job| job.id == id).cloned());
    let wanted = Wanted { places: Places::Admitted(&|_| true), claims: &[1], now: NOW };
    assert_eq!(index.search(&wanted).iter().map(|it| it.id).collect::<Vec<_>>(), [free.id]);
}

#[test]
fn a_due_group_without_tokens_opens_when_they_come() {
    let rate = Rate { count: 1, per: Millis(1000), burst: 1 };
    let limits = Limits { rate: Some(rate), ..Limits::default() };
    let batch = Batch { size: 3, wait: Millis(100), key: None };
    let types = [("embed".into(), TypeFlow { batch: Some(batch), ..TypeFlow::default() })].into();
    let resources = [("api".into(), Resource { key: None, limits })].into();
    let declarations = Arc::new(Declarations { resources, types, ..Declarations::default() });
    let mut index = ClaimIndex::with_state(Arc::new(FlowState { declarations, ..FlowState::default() }));
    let demand = ResourceUse { resource: "api".into(), key: None, units: 1 };
    let flow = FlowKeys {
        resources: vec![demand.clone()],
        batch: Some(BatchKey { key: None }),
        ..FlowKeys::default()
    };
    let job = ReadyEntry { flow: Arc::new(flow), ..embedding(1, 0, "") };
    index.insert(&job);
    index.promote(Timestamp(150), |_| Some(job.clone()));
    let empty = index.uses.bucket(&demand.bucket()).level.take(&rate, 1, Timestamp(150));
    index.uses.set_level(&demand.bucket(), empty);
    let next = index.next_run(|_| true, Timestamp(150)).map(|(at, _)| at);
    assert_eq!(next, Some(Timestamp(1150)));
}

#[test]
fn a_new_pause_opens_no_gate_and_its_end_those_of_its_bucket() {
    let limits = Limits { running: Some(1), ..Limits::default() };
    let keyed = Resource { key: Some("payload.k".to_owned()), limits };
    let declarations =
        Arc::new(Declarations { resources: [("gpu".into(), keyed)].into(), ..Declarations::default() });
    let free = FlowState { declarations, ..FlowState::default() };
    let mut index = ClaimIndex::with_state(Arc::new(free.clone()));
    let bucket = |n: u64| BucketId { resource: "gpu".into(), key: Some(format!("k{n}").into()) };
    let of = |n: u64| {
        let resources = vec![ResourceUse { resource: "gpu".into(), key: bucket(n).key, units: 1 }];
        ReadyEntry {
            flow: Arc::new(FlowKeys { resources, ..FlowKeys::default() }),
            ..embedding(n, n as i64, "")
        }
    };
    let jobs: Vec<ReadyEntry> = (0..20).map(of).collect();
    for job in &jobs {
        index.moved(None, Some(&used(job, true)));
        index.insert(job);
    }
    index.promote(NOW, |id| jobs.iter().find(|job| job.id == id).cloned());
    let wanted = Wanted { places: Places::Admitted(&|_| true), claims: &[1], now: NOW };
    assert!(index.search(&wanted).is_empty());
    let open = |index: &ClaimIndex| index.open.values().map(BTreeMap::len).sum::<usize>();
    let pause = Pause { until: None, by: "w1".into(), at: NOW };
    let paused = FlowState { pauses: [(PauseScope::Bucket(bucket(3)), pause)].into(), ..free.clone() };
    index.open_gates(&free, &paused);
    assert_eq!(open(&index), 0);
    index.open_gates(&paused, &free);
    assert_eq!(open(&index), 1, "the jobs of one bucket");
    let more = LimitOverride { running: Some(Some(2)), ..LimitOverride::default() };
    let changed = FlowState { overrides: [("gpu".into(), more)].into(), ..free.clone() };
    index.open_gates(&free, &changed);
    assert_eq!(open(&index), 20, "every bucket of the resource");
}

#[test]
fn buckets_that_nothing_uses_are_forgotten_when_many_are_full() {
    let rate = Rate { count: 1, per: Millis(1), burst: 1 };
    let limits = Limits { rate: Some(rate), ..Limits::default() };
    let keyed = Resource { key: Some("payload.k".to_owned()), limits };
    let declarations =
        Arc::new(Declarations { resources: [("api".into(), keyed)].into(), ..Declarations::default() });
    let mut index = ClaimIndex::with_state(Arc::new(FlowState { declarations, ..FlowState::default() }));
    for n in 0..10_000 {
        let bucket = BucketId { resource: "api".into(), key: Some(format!("k{n}").into()) };
        index.uses.set_level(&bucket, TokenLevel::default().take(&rate, 1, Timestamp(n)));
    }
    assert!(index.uses.len() < 2_000, "{}", index.uses.len());
}

#[test]
fn many_blocked_jobs_cost_one_step() {
    let limits = Limits { running: Some(1), ..Limits::default() };
    let resources = [("gpu".into(), Resource { key: None, limits })].into();
    let declarations = Arc::new(Declarations { resources, ..Declarations::default() });
    let state = FlowState { declarations, ..FlowState::default() };
    let mut index = ClaimIndex::with_state(Arc::new(state));
    let demand = ResourceUse { resource: "gpu".into(), key: None, units: 1 };
    // Each with another key, so that each is a subqueue.
    let flow = |n: u64| FlowKeys {
        resources: vec![demand.clone()],
        share: Some(format!("s{n}").into()),
        ..FlowKeys::default()
    };
    let job = |n: u64, flow: FlowKeys| ReadyEntry { flow: Arc::new(flow), ..embedding(n, 0, "") };
    let blocked: HashMap<JobId, ReadyEntry> =
        (0..50_000).map(|n| job(n, flow(n))).map(|job| (job.id, job)).collect();
    let holder = used(&job(0, flow(0)), true);
    index.moved(None, Some(&holder));
    for job in blocked.values() {
        index.insert(job);
    }
    let free = job(60_000, FlowKeys::default());
    index.insert(&free);
    index.promote(NOW, |id| Some(blocked.get(&id).unwrap_or(&free).clone()));
    let wanted = Wanted { places: Places::Admitted(&|_| true), claims: &[1], now: NOW };
    assert_eq!(index.search(&wanted)[0].id, free.id);
    assert_eq!(index.gates.values().map(|gate| gate.subqueues).sum::<usize>(), 50_000, "all are parked");
    assert_eq!(index.open.values().map(BTreeMap::len).sum::<usize>(), 1, "and not looked at again");
    index.moved(Some(&holder), None);
    let wanted = Wanted { claims: &[3], ..wanted };
    let found = index.search(&wanted);
    assert_eq!(found.len(), 2, "one of them fits now");
    assert_eq!(
        index.gates.values().map(|gate| gate.subqueues).sum::<usize>(),
        50_000,
        "they are searched where they are"
    );
}
