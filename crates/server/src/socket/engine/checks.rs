//! Periodic checks of an engine: whether it may stay connected, and whether it still holds its jobs.

use crate::prelude::*;
use crate::socket::engine::{EndReason, EngineTask};
use crate::socket::hub::HolderNotice;

impl EngineTask {
    /// Binds the engine's name to this connection. An earlier connection at another node notices at its next check.
    pub(super) async fn bind_name(&self) -> Result<()> {
        if self.app.store().is_shared() {
            let (worker, credential) =
                (self.handshake.worker.clone(), self.handshake.caller.credential.clone());
            let command = Command::BindWorkerConnection { worker, credential, connection: self.connection };
            let envelope = CommandEnvelope { by: Actor::from("server"), key: None, command };
            self.app.runtime().submit(envelope).await??;
        }
        Ok(())
    }

    /// Whether a newer connection, at any node, uses its name.
    async fn has_lost_name(&self) -> bool {
        if !self.app.store().is_shared() {
            return false;
        }
        match self.app.store().worker(self.handshake.worker.clone()).await {
            Ok(record) => {
                record.and_then(|record| record.connection).is_some_and(|bound| bound != self.connection)
            }
            Err(error) => {
                tracing::debug!(%error, "engine name check failed");
                false
            }
        }
    }

    pub(super) async fn is_admitted(&self) -> bool {
        self.app.keyring().still_admits(&self.handshake.caller, self.app.runtime().now()).await
    }

    /// Why the engine must end, if it must. Also reads the jobs that were not read since their dispatch.
    pub(super) async fn check(&mut self) -> Option<EndReason> {
        let touched = self.app.touch_worker(&self.handshake.caller, &self.handshake.worker).await;
        if !self.is_admitted().await
            || touched.is_err_and(|problem| problem.code() == ProblemCode::Forbidden.code())
        {
            return Some(EndReason::Unauthorized);
        }
        if self.has_lost_name().await {
            return Some(EndReason::Replaced);
        }
        let unchecked: Vec<JobId> =
            self.held.iter().filter(|(_, held)| !held.is_checked).map(|(job, _)| *job).collect();
        for job in unchecked {
            self.check_job(job).await;
        }
        None
    }

    pub(super) async fn handle_notice(&mut self, notice: HolderNotice) {
        match notice {
            HolderNotice::Job(job) => self.update(&job),
            HolderNotice::LeaseMayHaveEnded(job) if self.held.contains_key(&job) => self.check_job(job).await,
            HolderNotice::LeaseMayHaveEnded(_) => {}
        }
    }

    async fn check_job(&mut self, job: JobId) {
        match self.app.store().job(job).await {
            Ok(Some(job)) => self.update(&job),
            Ok(None) => self.drop_job(job),
            Err(error) => tracing::debug!(%error, %job, "held job check failed"),
        }
    }
}
