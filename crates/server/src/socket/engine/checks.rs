//! Periodic checks of an engine: whether it may stay connected, and whether it still holds its jobs.

use sha2::{Digest as _, Sha256};
use tenure_service::keyring::Admission;
use tokio::time::sleep;
use uuid::Uuid;

use crate::prelude::*;
use crate::socket::engine::{EndReason, EngineTask};
use crate::socket::hub::HolderNotice;
use crate::socket::messages::EngineRequest;

/// The delay after a failed read of the keys.
const VERIFY_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Bytes at the end of a connection's id that are a digest of its credential.
const CREDENTIAL_BYTES: usize = 6;

/// A unique id from which can be seen whether two connections have the same credential: the store has one connection for a
/// name, and only one with the same credential replaces another.
pub(super) fn connection_id(unique: Uuid, credential: &Name) -> Uuid {
    let mut bytes = unique.into_bytes();
    let digest = Sha256::digest(credential.as_str());
    bytes[16 - CREDENTIAL_BYTES..].copy_from_slice(&digest[..CREDENTIAL_BYTES]);
    Uuid::from_bytes(bytes)
}

/// Whether a connection takes the place of another with the same name.
fn replaces(newer: Uuid, connection: Uuid) -> bool {
    let credential = |id: Uuid| id.into_bytes()[16 - CREDENTIAL_BYTES..].to_owned();
    newer != connection && credential(newer) == credential(connection)
}

impl EngineTask {
    /// Binds the engine's name to this connection. An earlier connection at another node notices at its next check.
    pub(super) async fn bind_name(&self) -> Result<()> {
        if self.app.store().is_shared() {
            let (worker, credential) =
                (self.handshake.worker.clone(), self.handshake.caller.credential.clone());
            let command = Command::BindWorkerConnection { worker, credential, connection: self.connection };
            let envelope = CommandEnvelope { by: "server".into(), key: None, command };
            self.app.runtime().submit(envelope).await??;
        }
        Ok(())
    }

    /// Whether a newer connection with its credential, at any node, uses its name.
    async fn has_lost_name(&self) -> bool {
        if !self.app.store().is_shared() {
            return false;
        }
        match self.app.store().worker(self.handshake.worker.clone()).await {
            Ok(record) => {
                let bound = record.and_then(|record| record.connection);
                bound.is_some_and(|bound| replaces(bound, self.connection))
            }
            Err(error) => {
                tracing::debug!(%error, "engine name check failed");
                false
            }
        }
    }

    /// Whether its credential has not ended, as far as that is known.
    pub(super) async fn is_admitted(&self) -> bool {
        self.app.admission(&self.handshake.caller).await != Admission::Ended
    }

    /// Whether its credential is valid; waits until that is known.
    pub(super) async fn is_verified(&self) -> bool {
        loop {
            match self.app.admission(&self.handshake.caller).await {
                Admission::Valid => return true,
                Admission::Ended => return false,
                Admission::Unknown => sleep(VERIFY_RETRY_DELAY).await,
            }
        }
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

    /// Refuses the waiting reports on jobs that are out of the scopes of its key. Held jobs are in scope.
    pub(super) async fn refuse_out_of_scope(&mut self) {
        if !self.handshake.caller.scopes.limits_jobs() {
            return;
        }
        for report in &mut self.pending {
            let Ok(EngineRequest::Job(command)) = &report.message.request else { continue };
            let other = command.job().filter(|job| !self.held.contains_key(job));
            if let Some(job) = other
                && let Err(problem) = self.app.check_scope(&self.handshake.caller, job).await
            {
                report.message.request = Err(problem);
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_replaced_only_by_one_with_the_same_credential() {
        let connection =
            |n: u128, credential: &str| connection_id(Uuid::from_u128(n << 64), &credential.into());
        let first = connection(1, "key:k1");
        assert!(replaces(connection(2, "key:k1"), first));
        assert!(!replaces(first, first));
        assert!(!replaces(connection(2, "key:k2"), first));
    }
}
