//! Candidates for the claims of a batch.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tenure_core::limits::{CANDIDATE_BYTES_MAX, CLAIM_JOBS_MAX};
use tokio_postgres::Row;
use uuid::Uuid;

use super::Node;
use super::claim_index::{ClaimSlot, SLOTS_AT_FIRST, SlotPosition};
use super::clock;
use super::connection::{Connection, Rows, Sent, answered};
use super::error::StatementFault;
use super::load::Loaded;
use super::rows::{Param, borrowed, for_each};
use super::statements::{CLAIM_INDEX, CLAIMABLE, CLAIMABLE_SLOT};
use crate::Result;
use crate::codec::{self, Interner};
use crate::prelude::*;

/// Assumed bytes of a candidate before any was read: the first search finds as many as a claim may take.
const FIRST_CANDIDATE_BYTES: usize = CANDIDATE_BYTES_MAX / CLAIM_JOBS_MAX as usize;

/// The average bytes of the candidates of the last search, so that the next one does not read too many large jobs.
#[derive(Debug)]
pub(super) struct CandidateSize(AtomicUsize);

impl Default for CandidateSize {
    fn default() -> Self {
        Self(AtomicUsize::new(FIRST_CANDIDATE_BYTES))
    }
}

impl CandidateSize {
    /// How many of `wanted` jobs are read at once.
    fn rows(&self, wanted: usize) -> usize {
        wanted.min((CANDIDATE_BYTES_MAX / self.0.load(Ordering::Relaxed)).max(1))
    }

    fn set(&self, bytes: usize, rows: usize) {
        if let Some(average) = bytes.checked_div(rows) {
            self.0.store(average.max(1), Ordering::Relaxed);
        }
    }
}

/// A search for candidates.
pub(super) struct Search {
    pub(super) filter: ClaimFilter,
    /// How many are read, and how many the claims may take.
    max: usize,
    wanted: usize,
    /// When the candidates were read.
    now: i64,
    /// Whether the slots were just read, so that none is missing.
    thorough: bool,
    slots: usize,
    params: Vec<Param<'static>>,
}

impl Search {
    fn new(filter: &ClaimFilter, max: usize, slots: &[(ClaimSlot, SlotPosition)], now: i64) -> Self {
        let mut params: Vec<Param<'static>> = match slots {
            [(slot, (run_at, id))] => vec![
                Box::new(slot.queue.to_string()),
                Box::new(slot.job_type.to_string()),
                Box::new(slot.priority),
                Box::new(*run_at),
                Box::new(*id),
            ],
            _ => vec![
                Box::new(slots.iter().map(|(slot, _)| slot.queue.to_string()).collect::<Vec<_>>()),
                Box::new(slots.iter().map(|(slot, _)| slot.job_type.to_string()).collect::<Vec<_>>()),
                Box::new(slots.iter().map(|(slot, _)| slot.priority).collect::<Vec<_>>()),
                Box::new(slots.iter().map(|(_, (run_at, _))| *run_at).collect::<Vec<i64>>()),
                Box::new(slots.iter().map(|(_, (_, id))| *id).collect::<Vec<Uuid>>()),
            ],
        };
        params.push(Box::new(now));
        params.push(Box::new(max as i64));
        Self { filter: filter.clone(), max, wanted: max, now, thorough: false, slots: slots.len(), params }
    }

    /// Sends the search, if there is a slot to search.
    pub(super) fn send<'a>(&'a self, connection: &'a Connection) -> Option<Sent<'a, Rows>> {
        let sql = if self.slots == 1 { &CLAIMABLE_SLOT } else { &CLAIMABLE };
        let ask = async move { connection.ask(sql, &borrowed(&self.params)).await };
        (self.slots > 0).then(|| Sent::new(ask))
    }

    /// Whether jobs were left out because those that were found have many bytes.
    pub(super) fn is_cut(&self, found: usize) -> bool {
        found == self.max && self.max < self.wanted
    }

    /// Whether `found` is too few and there may be more at `now`.
    pub(super) fn is_short(&self, found: usize, now: i64) -> bool {
        found < self.max && !(self.thorough && self.now >= now)
    }
}

/// The searches of a batch, from the cached slots.
pub(super) async fn searches(
    connection: &Connection,
    node: &Node,
    reads: &Reads,
) -> Result<Vec<Search>, StatementFault> {
    if reads.claims.is_empty() {
        return Ok(Vec::new());
    }
    let thorough = node.claim_index.are_stale();
    if thorough {
        let asked_at = Instant::now();
        node.claim_index.renew(&connection.query_once(&CLAIM_INDEX, &[]).await?, asked_at)?;
    }
    let now = match node.clock.guess() {
        Some(now) => now,
        None => clock::read(connection, &node.clock).await?.at,
    };
    let search = |(filter, max): (&ClaimFilter, &usize)| {
        let slots = node.claim_index.admitted(filter, SLOTS_AT_FIRST);
        let thorough = thorough && slots.len() < SLOTS_AT_FIRST;
        Search { thorough, wanted: *max, ..Search::new(filter, node.candidate_size.rows(*max), &slots, now) }
    };
    Ok(reads.claims.iter().map(search).collect())
}

/// Searches again where too few jobs were found: every slot from its start. If a claim is empty after this, there is no
/// matching job, or other batches have locked them.
pub(super) async fn again(
    connection: &Connection,
    node: &Node,
    reads: &Reads,
    short: &[ClaimFilter],
    loaded: &mut Loaded,
) -> Result<(), StatementFault> {
    if short.is_empty() || !node.claim_index.may_be_searched() {
        return Ok(());
    }
    let asked_at = Instant::now();
    node.claim_index.renew(&connection.query(&CLAIM_INDEX, &[]).await?, asked_at)?;
    let mut names = Interner::default();
    for filter in short {
        let slots = node.claim_index.admitted(filter, usize::MAX);
        let wanted = reads.claims[filter];
        let max = node.candidate_size.rows(wanted);
        let search = Search { wanted, ..Search::new(filter, max, &slots, loaded.reading.at) };
        if let Some(sent) = search.send(connection) {
            let rows = answered(sent).await?;
            take(node, loaded, &search, &rows, &mut names)?;
        }
    }
    Ok(())
}

/// Adds the rows of a search; returns their number.
pub(super) fn take(
    node: &Node,
    loaded: &mut Loaded,
    search: &Search,
    rows: &[Row],
    names: &mut Interner,
) -> Result<usize> {
    let (mut found, mut bytes) = (Vec::<JobId>::with_capacity(rows.len()), 0);
    for_each(rows, names, |row| {
        let job = codec::job(row)?;
        node.specs.put(&job.spec);
        bytes += job.bytes();
        found.push(job.id());
        loaded.lock(job);
        Ok(())
    })?;
    node.candidate_size.set(bytes, found.len());
    if search.is_cut(found.len()) {
        loaded.set.cut_candidates.insert(search.filter.clone());
    }
    loaded.set.candidates.insert(search.filter.clone(), found.clone());
    loaded.candidates.insert(search.filter.clone(), found);
    Ok(rows.len())
}
