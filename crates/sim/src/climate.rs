//! How much goes wrong in a run, drawn once: some runs know one kind of fault only, some know all, some none.

use crate::chance::Chance;

/// Something that happens to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mishap {
    Nothing,
    Crash,
    CrashAll,
    Stop,
    Cut,
    CutAll,
    BeforeCommit,
    AfterCommit,
    Full,
    JumpBack,
    JumpAhead,
}

/// How often what goes wrong. All in percent, but where a unit is named.
#[derive(Clone, Debug)]
pub(crate) struct Climate {
    /// A request never arrives.
    pub(crate) lost_requests: u64,
    /// An answer never arrives.
    pub(crate) lost_answers: u64,
    /// A request arrives twice.
    pub(crate) doubled: u64,
    /// A request takes seconds.
    pub(crate) delayed: u64,
    /// A worker sleeps past its lease, at each step.
    pub(crate) pauses: u64,
    /// A worker forgets its job, at each step.
    pub(crate) worker_crashes: u64,
    /// A worker says something that it has no right to, after each job.
    pub(crate) impostors: u64,
    /// The longest time between two mishaps.
    pub(crate) calm_ms: u64,
    /// What happens to the world.
    pub(crate) mishaps: Vec<(u64, Mishap)>,
    /// How long the faults last.
    pub(crate) storm_ms: u64,
}

impl Climate {
    pub(crate) fn drawn(chance: &mut Chance) -> Self {
        let mut often = |most: u64| if chance.percent(60) { chance.between(1, most) } else { 0 };
        let kinds = [
            Mishap::Crash,
            Mishap::CrashAll,
            Mishap::Stop,
            Mishap::Cut,
            Mishap::CutAll,
            Mishap::BeforeCommit,
            Mishap::AfterCommit,
            Mishap::Full,
            Mishap::JumpBack,
            Mishap::JumpAhead,
        ];
        let mut mishaps: Vec<(u64, Mishap)> = kinds.iter().map(|kind| (often(10), *kind)).collect();
        mishaps.push((3, Mishap::Nothing));
        Self {
            lost_requests: often(10),
            lost_answers: often(20),
            doubled: often(20),
            delayed: often(10),
            pauses: often(15),
            worker_crashes: often(8),
            impostors: often(40),
            mishaps,
            calm_ms: chance.pick(&[2000, 6000, 20_000]),
            storm_ms: chance.between(40_000, 90_000),
        }
    }
}
