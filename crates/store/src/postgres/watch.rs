//! Reads for monitoring: gauges, leased and waiting jobs. None of them scans finished jobs.

use uuid::Uuid;

use super::connection::Params;
use super::read::{Reader, rows_max};
use super::rows::{decoded, get};
use super::statements::{LEASED, LIVE_COUNTS, OLDEST_READY, OPEN_DEAD_LETTERS, WAITING};
use super::*;

impl Reader<'_> {
    pub(super) async fn gauges(&self) -> Result<Gauges> {
        let now = self.node.database_now().await?.at.0;
        let jobs = decoded(&self.ask(&LIVE_COUNTS, &[]).await?, records::count)?;
        let oldest_ready = decoded(&self.ask(&OLDEST_READY, &[&now]).await?, |row| {
            Ok(OldestReady { queue: row.name()?, job_type: row.name()?, since: row.get()? })
        })?;
        let letters = self.ask(&OPEN_DEAD_LETTERS, &[]).await?;
        let letters = clock::one(&letters)?;
        Ok(Gauges {
            jobs,
            oldest_ready,
            dead_letters: get::<i64>(letters, 0)? as u64,
            oldest_dead_letter: get::<Option<i64>>(letters, 1)?.map(Timestamp),
        })
    }

    pub(super) async fn waiting(&self, limit: usize) -> Result<Vec<Arc<Job>>> {
        decoded(&self.ask(&WAITING, &[&rows_max(limit)]).await?, codec::job)
    }

    pub(super) async fn leased(
        &self,
        worker: Option<WorkerId>,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Arc<Job>>> {
        // Without a cursor, the page begins before every id.
        let after = after.map_or_else(Uuid::nil, |JobId(id)| id);
        let params: &Params<'_> = &[&worker.as_deref(), &after, &rows_max(limit)];
        decoded(&self.ask(&LEASED, params).await?, codec::job)
    }
}
