//! Splits the CPU cores: half for the load, half for the server, so that neither slows the other down.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

pub(super) struct CpuSplit {
    load: CpuSet,
    server: CpuSet,
}

impl CpuSplit {
    /// Splits the cores that this process may use; an odd core goes to the server, a single core is shared.
    pub(super) fn of_machine() -> io::Result<Self> {
        let all = sched_getaffinity(None)?;
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)).collect();
        let (load, server) = cores.split_at(cores.len() / 2);
        let load = if load.is_empty() { server } else { load };
        Ok(Self { load: set_of(load), server: set_of(server) })
    }

    /// Pins this thread, and the threads it starts from now on, to the load's cores.
    pub(super) fn pin_load(&self) -> io::Result<()> {
        Ok(sched_setaffinity(None, &self.load)?)
    }

    /// Starts something on the server's cores, from a thread that is pinned to the load's.
    pub(super) fn for_server<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        sched_setaffinity(None, &self.server)?;
        let started = start();
        self.pin_load()?;
        started
    }

    pub(super) fn load_threads(&self) -> usize {
        self.load.count() as usize
    }
}

fn set_of(cores: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(*core);
    }
    set
}
