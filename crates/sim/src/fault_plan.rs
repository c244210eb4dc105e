//! The faults of a run and their frequencies, drawn once from the seed. Some runs have one kind of fault, some all, some
//! none.

use crate::fixtures::flow::{TYPES, TypeRules};
use crate::rng::Rng;

/// A fault of a node, of the store or of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    Crash,
    CrashAll,
    Stop,
    Disconnect,
    DisconnectAll,
    BeforeCommit,
    AfterCommit,
    DiskFull,
    ClockBack,
    ClockAhead,
}

/// Frequencies, in percent unless a unit is named.
#[derive(Clone, Debug)]
pub(crate) struct FaultPlan {
    pub(crate) lost_requests: u64,
    pub(crate) lost_replies: u64,
    pub(crate) duplicated_requests: u64,
    /// Delayed by seconds.
    pub(crate) delayed_requests: u64,
    /// A worker sleeps past its lease, at each step.
    pub(crate) worker_pauses: u64,
    /// A worker forgets its job, at each step.
    pub(crate) worker_crashes: u64,
    /// A worker sends a command that it has no right to, after each job.
    pub(crate) unauthorized_commands: u64,
    /// The longest time between two of `faults`.
    pub(crate) gap_ms_max: u64,
    /// Weights of the faults.
    pub(crate) faults: Vec<(u64, Fault)>,
    /// How long there are faults.
    pub(crate) duration_ms: u64,
    /// The types with flow control that users ask for: some of them, so that their jobs meet.
    pub(crate) controlled: Vec<&'static TypeRules>,
}

impl FaultPlan {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let first = rng.between(0, TYPES.len() as u64 - 1) as usize;
        let controlled = (0..4).map(|step| &TYPES[(first + step * 5) % TYPES.len()]).collect();
        let mut frequency = |most: u64| if rng.percent(60) { rng.between(1, most) } else { 0 };
        let kinds = [
            Fault::Crash,
            Fault::CrashAll,
            Fault::Stop,
            Fault::Disconnect,
            Fault::DisconnectAll,
            Fault::BeforeCommit,
            Fault::AfterCommit,
            Fault::DiskFull,
            Fault::ClockBack,
            Fault::ClockAhead,
        ];
        let mut faults: Vec<(u64, Fault)> = kinds.iter().map(|kind| (frequency(10), *kind)).collect();
        faults.push((3, Fault::None));
        Self {
            lost_requests: frequency(10),
            lost_replies: frequency(20),
            duplicated_requests: frequency(20),
            delayed_requests: frequency(10),
            worker_pauses: frequency(15),
            worker_crashes: frequency(8),
            unauthorized_commands: frequency(40),
            faults,
            gap_ms_max: rng.pick(&[2000, 6000, 20_000]),
            duration_ms: rng.between(40_000, 90_000),
            controlled,
        }
    }
}
