//! Erasure of users: deletes the finished jobs that an open erasure covers. Every node does so, at the request and with each
//! pass of retention, until no job is left.

use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::erasure::{Erase, Erasure};
use tenure_core::query::{JobFilter, Page};

use crate::prelude::*;
use crate::sweeper::envelope;
use crate::{Failure, Inner, Runtime};

/// Jobs that one request deletes; the rest is deleted with the next passes.
const REQUEST_JOBS_MAX: u64 = 10_000;

/// Jobs in one page, if they have few bytes.
const PAGE_JOBS: usize = 500;

/// What one pass of an erasure did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErasureProgress {
    /// Jobs that were deleted.
    pub deleted: u64,
    /// Jobs that are deleted when they are finished.
    pub unfinished: u64,
    /// Whether nothing is left, and the ledger has no name any more.
    pub is_complete: bool,
}

impl Runtime {
    /// Opens the erasure of a user, and deletes what is finished now.
    pub async fn erase(
        &self,
        by: CommandOrigin,
        key: Option<IdempotencyKey>,
        user: UserId,
        reason: String,
    ) -> Result<Result<ErasureProgress, Refusal>, Failure> {
        let alias = format!("erased-{:032x}", (self.inner.options.random)()).as_str().into();
        let command = Command::Erase(Box::new(Erase { user: user.clone(), alias, reason }));
        if let Err(refusal) = self.inner.submit(CommandEnvelope { by, key, command }).await? {
            return Ok(Err(refusal));
        }
        let open = self.inner.open_erasures().await?.into_iter().find(|erasure| erasure.user == user);
        let Some(erasure) = open else {
            // Another node has finished it already.
            return Ok(Ok(ErasureProgress { is_complete: true, ..ErasureProgress::default() }));
        };
        self.inner.delete_covered(&erasure, REQUEST_JOBS_MAX).await.map(Ok)
    }
}

impl Inner {
    /// Continues every open erasure.
    pub(crate) async fn continue_erasures(&self) -> Result<(), Failure> {
        for erasure in self.open_erasures().await? {
            let done = self.delete_covered(&erasure, u64::MAX).await?;
            tracing::info!(
                alias = %erasure.alias,
                deleted = done.deleted,
                unfinished = done.unfinished,
                complete = done.is_complete,
                "erasure continued",
            );
        }
        Ok(())
    }

    async fn open_erasures(&self) -> Result<Vec<Erasure>, Failure> {
        let open = self.store.automations(AutomationKind::Erasure).await?;
        let erasure = |automation| match automation {
            Automation::Erasure(erasure) => Some(erasure),
            Automation::Schedule(_) | Automation::Webhook(_) => None,
        };
        Ok(open.into_iter().filter_map(erasure).collect())
    }

    /// Deletes the finished jobs of an erasure, up to a number, and ends the erasure if no job is left.
    async fn delete_covered(&self, erasure: &Erasure, jobs_max: u64) -> Result<ErasureProgress, Failure> {
        let mut progress = ErasureProgress::default();
        let filter = JobFilter { user_id: Some(erasure.user.clone()), ..JobFilter::default() };
        let mut before = None;
        while !*self.stopping.borrow() {
            let page = self.store.list_page(filter.clone(), Page { before, limit: PAGE_JOBS }).await?;
            let (finished, unfinished): (Vec<_>, Vec<_>) =
                page.rows.iter().filter(|job| erasure.covers(job)).partition(|job| job.phase.is_final());
            progress.unfinished += unfinished.len() as u64;
            let delete = |id| envelope(Command::DeleteErased { user: erasure.user.clone(), job: id });
            let commands = finished.iter().map(|job| delete(job.id())).collect();
            for answer in self.submit_all(commands).await {
                // A refusal: another node has deleted the job.
                progress.deleted += u64::from(answer?.is_ok());
            }
            let Some(last) = page.rows.last().filter(|_| page.has_more) else {
                progress.is_complete = progress.unfinished == 0 && self.finish_erasure(erasure).await?;
                return Ok(progress);
            };
            if progress.deleted >= jobs_max {
                return Ok(progress);
            }
            before = Some(last.id());
        }
        Err(Failure::Stopped)
    }

    /// Whether the erasure has ended; it stays open while credits of the user are reserved.
    async fn finish_erasure(&self, erasure: &Erasure) -> Result<bool, Failure> {
        let answer = self.submit(envelope(Command::FinishErasure(erasure.user.clone()))).await?;
        Ok(!matches!(answer, Ok(CommandOutput::Automation { replayed: true, .. })))
    }
}
