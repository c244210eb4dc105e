//! Worker processes: `tenure work`, which faults kill and freeze.

use std::process::Command;

use tenure_launcher::Process;

use crate::tenure;

const PROCESSES: usize = 2;

/// Worker processes. They are killed when dropped.
pub(super) struct WorkerProcesses {
    urls: Vec<String>,
    processes: Vec<Process>,
}

impl WorkerProcesses {
    /// Starts workers of these servers; none without servers.
    pub(super) fn start(urls: Vec<String>) -> Self {
        let count = if urls.is_empty() { 0 } else { PROCESSES };
        let processes = (0..count).map(|worker| start(&urls, worker)).collect();
        Self { urls, processes }
    }

    pub(super) fn len(&self) -> usize {
        self.processes.len()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        self.processes.iter().map(Process::id)
    }

    /// Kills one and starts another.
    pub(super) fn kill(&mut self, worker: usize) {
        self.processes[worker].kill().expect("the process can be killed");
        self.processes[worker] = start(&self.urls, worker);
    }
}

fn start(urls: &[String], worker: usize) -> Process {
    let mut command = Command::new(tenure());
    command.env_clear().args(["work", "chore", "--slots", "4", "--server", &urls[worker % urls.len()]]);
    command.args(["--", "/bin/true"]);
    Process::start(command).expect("the binary starts")
}
