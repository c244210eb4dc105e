//! How long after an outage the first job is created, and the target for it.

use std::time::{Duration, Instant};

use super::load::Load;
use crate::{Server, eventually};

/// Jobs are created again this long after an outage has ended, at most.
const RESUME_MAX: Duration = Duration::from_secs(5);

/// The time from the end of each outage to the first write.
#[derive(Default)]
pub(super) struct Resumptions(Vec<Duration>);

impl Resumptions {
    /// Waits for the first job that is created after an outage, which has ended now. Nodes must have stayed up.
    pub(super) async fn measure(&mut self, load: &Load, nodes: &mut [Server]) {
        let ended = Instant::now();
        let created = || load.state().acknowledged.lock().unwrap().created.len();
        let before = created();
        eventually("jobs are created again", async || created() > before).await;
        self.0.push(ended.elapsed());
        for node in nodes {
            assert!(node.is_running(), "nodes stay up:\n{}", node.logs());
        }
    }

    /// The longest time, as a sentence; none without an outage.
    pub(super) fn measured(&self, since: &str) -> Option<String> {
        let longest = self.0.iter().max()?;
        Some(format!("a job was created {:.2} s after {since} at most", longest.as_secs_f64()))
    }

    pub(super) fn missed(&self) -> Vec<String> {
        let late = self.0.iter().filter(|span| **span > RESUME_MAX);
        late.map(|span| format!("writes resumed after {span:?} instead of {RESUME_MAX:?}")).collect()
    }
}
