//! Candidates of claims: ready jobs from the memory of this node, in claim order. Jobs of which the memory has only the indexes are
//! read from their rows, no more bytes than a claim may take.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure_core::flow::Candidate;
use tenure_core::limits::{CANDIDATE_BYTES_MAX, CLAIM_JOBS_MAX};

use super::Node;
use super::connection::Connection;
use super::error::StatementFault;
use super::follow;
use super::load::Loaded;
use crate::prelude::*;

/// Assumed bytes of a candidate before any was read: the first read has as many as a claim may take.
const FIRST_CANDIDATE_BYTES: usize = CANDIDATE_BYTES_MAX / CLAIM_JOBS_MAX as usize;

/// The average bytes of the candidates that were read last, so that the next read does not have too many large jobs.
#[derive(Debug)]
pub(super) struct CandidateSize(AtomicUsize);

impl Default for CandidateSize {
    fn default() -> Self {
        Self(AtomicUsize::new(FIRST_CANDIDATE_BYTES))
    }
}

impl CandidateSize {
    /// How many jobs are read at once.
    fn rows(&self) -> usize {
        (CANDIDATE_BYTES_MAX / self.0.load(Ordering::Relaxed)).max(1)
    }

    fn set(&self, bytes: usize, rows: usize) {
        if let Some(average) = bytes.checked_div(rows) {
            self.0.store(average.max(1), Ordering::Relaxed);
        }
    }
}

/// Finds the candidates of all claims of a batch.
pub(super) async fn candidates(
    connection: &Connection,
    node: &Node,
    reads: &Reads,
    loaded: &mut Loaded,
) -> Result<(), StatementFault> {
    let now = Timestamp(loaded.reading.at);
    let mut bytes_left = CANDIDATE_BYTES_MAX;
    for (filter, claims) in &reads.claims {
        let candidates = loop {
            let mut candidates = match node.memory().as_mut() {
                Some(memory) => memory.live.claimable(filter, &loaded.set.paused, claims, now),
                None => Vec::new(),
            };
            if let Some(count) =
                complete(connection, node, &ids(&candidates), loaded, &mut bytes_left).await?
            {
                if count < candidates.len() {
                    candidates.truncate(count);
                    loaded.set.cut_candidates.insert(filter.clone());
                }
                break candidates;
            }
        };
        loaded.set.candidates.insert(filter.clone(), candidates);
    }
    Ok(())
}

fn ids(candidates: &[Candidate]) -> Vec<JobId> {
    candidates.iter().map(|candidate| candidate.id).collect()
}

/// Reads the candidates that are only indexed, up to a limit of bytes but at least one, and returns how many are complete. `None`
/// if one of them cannot be read: it must not fail every claim, so it is excluded.
async fn complete(
    connection: &Connection,
    node: &Node,
    candidates: &[JobId],
    loaded: &mut Loaded,
    bytes_left: &mut usize,
) -> Result<Option<usize>, StatementFault> {
    for (index, &id) in candidates.iter().enumerate() {
        if index > 0 && *bytes_left == 0 {
            return Ok(Some(index));
        }
        if bytes_of(node, loaded, id).is_none()
            && !read(connection, node, &candidates[index..], loaded).await?
        {
            return Ok(None);
        }
        *bytes_left = bytes_left.saturating_sub(bytes_of(node, loaded, id).unwrap_or_default());
    }
    Ok(Some(candidates.len()))
}

/// The bytes of a job that is complete.
fn bytes_of(node: &Node, loaded: &Loaded, id: JobId) -> Option<usize> {
    let memory = node.memory();
    let known = memory.as_ref().and_then(|memory| memory.get(id)).or_else(|| loaded.rows.get(&id));
    known.map(|job| job.bytes())
}

/// Reads the first of some candidates, and others that are only indexed. Returns whether all of them can be read.
async fn read(
    connection: &Connection,
    node: &Node,
    candidates: &[JobId],
    loaded: &mut Loaded,
) -> Result<bool, StatementFault> {
    let is_missing = |id: &&JobId| bytes_of(node, loaded, **id).is_none();
    let wanted: BTreeSet<JobId> =
        candidates.iter().filter(is_missing).take(node.candidate_size.rows()).copied().collect();
    let found = follow::jobs(connection, &wanted).await?;
    node.candidate_size.set(found.values().map(|job| job.bytes()).sum(), found.len());
    let unreadable: Vec<JobId> = wanted.into_iter().filter(|id| !found.contains_key(id)).collect();
    loaded.rows.extend(found);
    for id in &unreadable {
        tracing::error!(job = %id, "job excluded from claims");
        if let Some(memory) = node.memory().as_mut() {
            memory.exclude(*id);
        }
    }
    Ok(unreadable.is_empty())
}
