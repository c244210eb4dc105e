//! The search finds what the sentences of the specification find, when they are applied job by job.

use std::cmp::Reverse;

use tenure_core::flow::{Declarations, Limits, QueueFlow, Rate, Resource, Share};

use super::search::Places;
use super::*;

pub(super) const NOW: Timestamp = Timestamp(1_000_000);

/// A small generator: the test needs variety, not quality.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn name(&mut self, prefix: &str, end: u64) -> String {
        format!("{prefix}{}", self.below(end))
    }
}

fn declarations(draw: &mut Draw) -> Declarations {
    let mut declared = Declarations::default();
    for (name, key) in [("keyed", Some("payload.k".to_owned())), ("single", None)] {
        let rate = Rate { count: 1 + draw.below(3), per: Millis(1000), burst: 3 + draw.below(3) };
        let limits = Limits {
            running: Some(2 + draw.below(4)),
            rate: (draw.below(2) == 0).then_some(rate),
            waiting: None,
        };
        declared.resources.insert(name.into(), Resource { key, limits });
    }
    for queue in ["q0", "q1", "q2"] {
        let weights = [("s0".into(), 1 + draw.below(4))].into();
        let share = Share { key: "user_id".to_owned(), weights, default_weight: 1 };
        let aging = (draw.below(3) == 0).then_some(Millis(7));
        declared
            .queues
            .insert(queue.into(), QueueFlow { share: (draw.below(2) == 0).then_some(share), aging });
    }
    declared
}

fn entry(draw: &mut Draw, number: u64) -> ReadyEntry {
    let mut resources = Vec::new();
    if draw.below(2) == 0 {
        let key = Some(draw.name("k", 4).into());
        resources.push(ResourceUse { resource: "keyed".into(), key, units: 1 + draw.below(2) });
    }
    if draw.below(3) == 0 {
        resources.push(ResourceUse { resource: "single".into(), key: None, units: 1 });
    }
    let share = (draw.below(3) > 0).then(|| draw.name("s", 3).into());
    ReadyEntry {
        id: JobId::new(1, number.into()),
        queue: draw.name("q", 3).into(),
        job_type: draw.name("t", 2).into(),
        priority: draw.below(3) as i32,
        run_at: Timestamp(NOW.0 - 40 + draw.below(60) as i64),
        is_new: true,
        flow: Arc::new(FlowKeys { resources, share, ..FlowKeys::default() }),
    }
}

pub(super) fn used(entry: &ReadyEntry, is_leased: bool) -> FlowUse {
    FlowUse { queue: entry.queue.clone(), flow: Arc::clone(&entry.flow), is_leased }
}

/// All jobs, without any index.
#[derive(Default)]
struct Naive {
    ready: Vec<ReadyEntry>,
    leased: Vec<ReadyEntry>,
    uses: BucketUses,
}

impl Naive {
    fn choose(&self, max: usize, now: Timestamp) -> Vec<JobId> {
        let mut uses = BucketUses::with_state(Arc::clone(&self.uses.state));
        for (id, level) in self.uses.levels() {
            uses.set_level(&id, level);
        }
        self.ready.iter().for_each(|entry| uses.moved(None, Some(&used(entry, false))));
        self.leased.iter().for_each(|entry| uses.moved(None, Some(&used(entry, true))));
        let mut chosen: Vec<JobId> = Vec::new();
        while chosen.len() < max {
            let state = Arc::clone(&uses.state);
            let is_free = |entry: &&ReadyEntry| {
                let blocked =
                    |demand: &ResourceUse| state.blocked(demand, &uses.bucket(&demand.bucket()), now);
                entry.run_at <= now
                    && !chosen.contains(&entry.id)
                    && entry.flow.resources.iter().all(|demand| blocked(demand).is_none())
            };
            let mut best: BTreeMap<&QueueName, (Head, &ReadyEntry)> = BTreeMap::new();
            for entry in self.ready.iter().filter(is_free) {
                let load = uses.load(&entry.queue, entry.flow.share.as_ref());
                let head =
                    Head { priority: Reverse(entry.priority), load, run_at: entry.run_at, id: entry.id };
                let head = head.aged(uses.aging(&entry.queue), now);
                let known = best.entry(&entry.queue).or_insert((head, entry));
                if head < known.0 {
                    *known = (head, entry);
                }
            }
            let Some((_, next)) = best.into_values().min_by_key(|(head, _)| head.between_queues()) else {
                break;
            };
            chosen.push(next.id);
            for demand in &next.flow.resources {
                if let Some(rate) = state.limits(&demand.resource).rate {
                    let level = uses.bucket(&demand.bucket()).level.take(&rate, demand.units, now);
                    uses.set_level(&demand.bucket(), level);
                }
            }
            uses.moved(Some(&used(next, false)), Some(&used(next, true)));
        }
        chosen
    }
}

#[test]
fn candidates_are_those_of_the_specification_in_its_order() {
    for seed in 0..400 {
        let mut draw = Draw(seed);
        let state =
            Arc::new(FlowState { declarations: Arc::new(declarations(&mut draw)), ..FlowState::default() });
        let mut index = ClaimIndex::with_state(Arc::clone(&state));
        let mut naive = Naive { uses: BucketUses::with_state(state), ..Naive::default() };
        let (mut number, mut now) = (0, NOW);
        for round in 0..12 {
            for _ in 0..draw.below(12) {
                number += 1;
                let new = entry(&mut draw, number);
                index.insert(&new);
                index.moved(None, Some(&used(&new, false)));
                naive.ready.push(new);
            }
            for _ in 0..draw.below(4).min(naive.leased.len() as u64) {
                let ended = naive.leased.swap_remove(draw.below(naive.leased.len() as u64) as usize);
                index.moved(Some(&used(&ended, true)), None);
            }
            now = Timestamp(now.0 + draw.below(400) as i64);
            let max = 1 + draw.below(6) as u32;
            index.promote(now, |id| naive.ready.iter().find(|entry| entry.id == id).cloned());
            let wanted = Wanted { places: Places::Admitted(&|_| true), claims: &[max], now };
            let found: Vec<JobId> = index.search(&wanted).iter().map(|candidate| candidate.id).collect();
            assert_eq!(found, naive.choose(max as usize, now), "seed {seed}, round {round}");
            for id in found {
                let position = naive.ready.iter().position(|entry| entry.id == id).unwrap();
                let claimed = naive.ready.swap_remove(position);
                for demand in &claimed.flow.resources {
                    let Some(rate) = index.state().limits(&demand.resource).rate else { continue };
                    let level = index.uses.bucket(&demand.bucket()).level.take(&rate, demand.units, now);
                    index.uses.set_level(&demand.bucket(), level);
                    naive.uses.set_level(&demand.bucket(), level);
                }
                index.remove(&claimed);
                index.moved(Some(&used(&claimed, false)), Some(&used(&claimed, true)));
                naive.leased.push(claimed);
            }
        }
    }
}

#[test]
fn the_jobs_ahead_are_those_with_a_better_rank() {
    for seed in 0..60 {
        let mut draw = Draw(seed);
        let state =
            Arc::new(FlowState { declarations: Arc::new(declarations(&mut draw)), ..FlowState::default() });
        let mut index = ClaimIndex::with_state(state);
        let jobs: Vec<ReadyEntry> = (0..300).map(|number| entry(&mut draw, number)).collect();
        for job in &jobs {
            index.insert(job);
        }
        let now = Timestamp(NOW.0 + draw.below(100) as i64);
        index.promote(now, |id| jobs.iter().find(|job| job.id == id).cloned());
        let rank = |job: &ReadyEntry| index.rank(&job.queue, (job.priority, job.run_at, job.id), now);
        for job in jobs.iter().step_by(7) {
            for demand in &job.flow.resources {
                let bucket = demand.bucket();
                let needs = |job: &&ReadyEntry| job.flow.resources.iter().any(|used| used.bucket() == bucket);
                let ready = jobs.iter().filter(|job| job.run_at <= now).filter(needs);
                let counted = ready.filter(|other| rank(other) < rank(job)).count();
                assert_eq!(index.ahead_at(&bucket, job, now), counted, "seed {seed}, job {}", job.id);
            }
        }
    }
}
