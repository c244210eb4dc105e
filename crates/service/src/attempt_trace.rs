//! The trace context of an attempt: a span of the job's trace whose id follows from the job and the fence of the lease. So every
//! node names the same span, without storing anything.

use tenure_core::id::Fence;
use tenure_core::job::Spec;

use crate::prelude::*;

/// Where the id of the span stands in a `traceparent`.
const SPAN: std::ops::Range<usize> = 36..52;

/// The `traceparent` of the attempt under a lease.
pub fn traceparent(spec: &Spec, fence: Fence) -> Name {
    let job = spec.traceparent();
    let (Some(trace), Some(flags)) = (job.as_str().get(..SPAN.start), job.as_str().get(SPAN.end..)) else {
        return job;
    };
    format!("{trace}{:016x}{flags}", span_id(spec.id, fence)).into()
}

/// Mixes the bits (splitmix64), so that ids of neighbouring fences have nothing in common. Never zero, which is not an id.
fn span_id(job: JobId, fence: Fence) -> u64 {
    let mut bits = (job.0.as_u128() as u64) ^ fence.0.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits ^ (bits >> 31)).max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_attempt_of_every_job_has_its_own_span() {
        let jobs = [1_u128, 2, 3, u128::MAX].map(|id| JobId(uuid::Uuid::from_u128(id)));
        let ids: BTreeSet<u64> =
            jobs.iter().flat_map(|job| (0..1000).map(|fence| span_id(*job, Fence(fence)))).collect();
        assert_eq!(ids.len(), 4000);
        assert!(!ids.contains(&0));
        assert_eq!(span_id(jobs[0], Fence(7)), span_id(jobs[0], Fence(7)));
    }
}
