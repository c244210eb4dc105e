//! Half of the machine for the load and half for the server, so that neither waits for the other's turn.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

pub(super) struct Halves {
    load: CpuSet,
    server: CpuSet,
}

impl Halves {
    /// The cores that this process may use, shared out; a core too many is the server's. One core is everybody's.
    pub(super) fn of_machine() -> io::Result<Self> {
        let all = sched_getaffinity(None)?;
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)).collect();
        let (load, server) = cores.split_at(cores.len() / 2);
        let load = if load.is_empty() { server } else { load };
        Ok(Self { load: set_of(load), server: set_of(server) })
    }

    /// From now on this thread, and whatever it starts, is load.
    pub(super) fn take_load(&self) -> io::Result<()> {
        Ok(sched_setaffinity(None, &self.load)?)
    }

    /// Starts something that stays on the server's half, from a thread that is load.
    pub(super) fn for_server<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        sched_setaffinity(None, &self.server)?;
        let started = start();
        self.take_load()?;
        started
    }

    /// Threads for the load: one for each of its cores.
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
