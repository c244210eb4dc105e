//! What waiting claims may take now, and when they may take more.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::flow::{Batch, BatchKey, ResourceUse};

use super::search::{Places, Wanted};
use super::{ClaimIndex, GroupId, Place, SubqueueId};
use crate::prelude::*;

impl ClaimIndex {
    /// The earliest `run_at` of the claimable jobs of each queue and type.
    pub(crate) fn oldest(&self) -> BTreeMap<Place, Timestamp> {
        let mut oldest = BTreeMap::new();
        for subqueue in self.subqueues.values() {
            let Some(&(run_at, _)) = subqueue.jobs.first() else { continue };
            let known = oldest.entry(subqueue.key.place()).or_insert(run_at);
            *known = run_at.min(*known);
        }
        oldest
    }

    /// How many jobs wait for a group, and since when the oldest.
    pub(crate) fn group(&self, place: &Place, key: &BatchKey) -> Option<(usize, Timestamp)> {
        let subqueues =
            self.groups.get(&(place.clone(), key.clone()))?.iter().map(|subqueue| &self.subqueues[subqueue]);
        let oldest = subqueues
            .clone()
            .filter_map(|subqueue| subqueue.jobs.first())
            .map(|(run_at, _)| *run_at)
            .min()?;
        Some((subqueues.map(|subqueue| subqueue.jobs.len()).sum(), oldest))
    }

    /// How many jobs of each queue and type can be claimed now; exact up to `limit`. `max_of` is how many jobs a claim takes, or
    /// `None` if none is wanted.
    pub(crate) fn claimable(
        &mut self,
        max_of: impl Fn(&Place) -> Option<u32>,
        limit: usize,
        now: Timestamp,
    ) -> Vec<(Place, usize)> {
        let gates = self.open_gates.iter().filter_map(|gate| self.gates.get(gate)).map(|gate| &gate.heads);
        let places = gates.chain([&self.open]).flat_map(BTreeMap::keys);
        let places: BTreeMap<Place, u32> =
            places.filter_map(|place| Some((place.clone(), max_of(place)?))).collect();
        let mut found = Vec::new();
        for (place, max) in places {
            let count = self.plain_count(&place, limit).unwrap_or_else(|| {
                // How many jobs make a group depends on how many the claim takes.
                let claims = vec![max; limit.div_ceil(max.max(1) as usize)];
                self.search(&Wanted { places: Places::One(&place), claims: &claims, now }).len()
            });
            found.push((place, count.min(limit)));
        }
        found.retain(|(_, count)| *count > 0);
        found
    }

    /// The number of jobs of a queue and type without flow control, up to `limit`.
    fn plain_count(&self, place: &Place, limit: usize) -> Option<usize> {
        self.uses.state.declarations.is_empty().then(|| {
            let subqueues = self.open.get(place).into_iter().flat_map(BTreeMap::values);
            subqueues.map(|subqueue| self.subqueues[subqueue].jobs.len()).sum::<usize>().min(limit)
        })
    }

    fn batch(&self, job_type: &TypeName) -> Option<&Batch> {
        self.uses.state.declarations.job_type(job_type.as_str())?.batch.as_ref()
    }

    /// The next delayed job that `admits` accepts, or the next time after `now` at which a gate or a group opens for such jobs.
    pub(crate) fn next_run(
        &self,
        admits: impl Fn(&Place) -> bool,
        now: Timestamp,
    ) -> Option<(Timestamp, Place)> {
        let delayed = self.later.iter().filter(|(place, _)| admits(place));
        let delayed = delayed.filter_map(|(place, jobs)| Some((jobs.first()?.0, place.clone()))).min();
        let opens = self.timers.iter().find_map(|(at, gate)| {
            let place = self.gates.get(gate)?.heads.keys().find(|place| admits(place))?;
            Some((*at, place.clone()))
        });
        let groups = self.groups.iter().filter(|((place, _), _)| admits(place));
        let groups = groups.filter_map(|(group, subqueues)| {
            Some((self.group_opens(group, subqueues, now)?, group.0.clone()))
        });
        [delayed, opens].into_iter().flatten().chain(groups).min()
    }

    /// The next time after `now` at which an incomplete group has waited long enough, or at which one of its buckets may admit a job, or all
    /// of them, because there are tokens or a pause ends. Jobs of groups are not parked at gates.
    fn group_opens(
        &self,
        (place, key): &GroupId,
        subqueues: &BTreeSet<SubqueueId>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let (jobs, oldest) = self.group(place, key)?;
        let batch = self.batch(&place.1)?;
        let whole = jobs.clamp(1, batch.size.max(1) as usize) as u64;
        let demands = subqueues.iter().flat_map(|subqueue| &self.subqueues[subqueue].key.resources);
        let opens = demands.flat_map(|demand| {
            let (bucket, state) = (self.uses.bucket(&demand.bucket()), &self.uses.state);
            let burst = state.limits(&demand.resource).rate.map(|rate| rate.burst);
            let of_all = burst.map(|burst| demand.units.saturating_mul(whole).min(burst));
            [Some(demand.units), of_all].into_iter().flatten().filter_map(move |units| {
                let demand = ResourceUse { units, ..demand.clone() };
                state.blocked(&demand, &bucket, now)?.until()
            })
        });
        opens.chain([oldest + batch.wait]).filter(|at| now < *at).min()
    }
}
