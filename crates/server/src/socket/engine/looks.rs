//! What an engine's task looks at by itself, about once a second, and when it is told: whether the engine may stay, and
//! how the jobs stand that it holds.

use tenure_core::command::{Asked, Command};
use tenure_core::id::{Actor, JobId};
use tenure_store::Store as _;

use crate::problem::{FORBIDDEN, Problem};
use crate::socket::engine::{End, Working};
use crate::socket::switchboard::News;

impl Working {
    /// Takes the engine's name from whichever connection has it at another node. That one finds out when it looks.
    pub(super) async fn take_name(&self) -> Result<(), Problem> {
        if self.app.store().is_shared() {
            let (worker, credential) = (self.hello.worker.clone(), self.hello.caller.credential.clone());
            let command = Command::Seat(worker, credential, self.connection);
            self.app.runtime().submit(Asked { by: Actor::from("server"), key: None, command }).await??;
        }
        Ok(())
    }

    /// Whether a newer connection has its name, at whichever node.
    async fn has_lost_name(&self) -> bool {
        if !self.app.store().is_shared() {
            return false;
        }
        match self.app.store().worker(self.hello.worker.clone()).await {
            Ok(seen) => seen.and_then(|seen| seen.connection).is_some_and(|has| has != self.connection),
            Err(error) => {
                tracing::debug!(%error, "who has an engine's name is looked at later");
                false
            }
        }
    }

    pub(super) async fn is_admitted(&self) -> bool {
        self.app.keyring().still_admits(&self.hello.caller, self.app.runtime().now()).await
    }

    /// Why the engine may not stay, if it may not. Looks at jobs that nobody has looked at since they were dispatched.
    pub(super) async fn look(&mut self) -> Option<End> {
        let heard = self.app.hear(&self.hello.caller, &self.hello.worker).await;
        if !self.is_admitted().await || heard.is_err_and(|problem| problem.code() == FORBIDDEN.code) {
            return Some(End::Barred);
        }
        if self.has_lost_name().await {
            return Some(End::Replaced);
        }
        let unchecked: Vec<JobId> =
            self.held.iter().filter(|(_, held)| !held.is_checked).map(|(job, _)| *job).collect();
        for job in unchecked {
            self.look_at(job).await;
        }
        None
    }

    pub(super) async fn learn(&mut self, news: News) {
        match news {
            News::Stands(job) => self.standing(&job),
            News::Changed(job) if self.held.contains_key(&job) => self.look_at(job).await,
            News::Changed(_) => {}
        }
    }

    async fn look_at(&mut self, job: JobId) {
        match self.app.store().job(job).await {
            Ok(Some(job)) => self.standing(&job),
            Ok(None) => self.let_go(job),
            Err(error) => tracing::debug!(%error, "a job is looked at later"),
        }
    }
}
