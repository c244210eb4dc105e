//! Which events of the journal a request asks for, and which a caller may see.

use tenure_core::api_key::Role;
use tenure_core::id::{JobId, Name};
use tenure_store::{JournalEntry, Store as _};

use crate::caller::Caller;
use crate::problem::Problem;
use crate::service::Service;

/// Which events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    kind: Option<Name>,
    lifecycle: Option<LifecycleName>,
    job_id: Option<JobId>,
    correlation_id: Option<Name>,
    user_id: Option<UserId>,
    /// Where from and where to, which only the dashboard asks.
    pub from: Option<StateName>,
    pub to: Option<StateName>,
}

impl Filter {
    pub fn read(given: &mut Given, caller: &Caller) -> Result<Self, Problem> {
        let mut filter = Self {
            kind: given.name("type")?,
            lifecycle: given.name("lifecycle")?,
            job_id: given.id("job_id")?,
            correlation_id: given.name("correlation_id")?,
            user_id: given.name("user_id")?,
            ..Self::default()
        };
        if caller.role == Role::Producer {
            if filter.user_id.is_some() && filter.user_id != caller.user {
                return Err(Problem::forbidden("a producer reads events of its own user"));
            }
            filter.user_id.clone_from(&caller.user);
        }
        Ok(filter)
    }

    pub fn admits(&self, entry: &JournalEntry) -> bool {
        let is = |wanted: &Option<Name>, actual: &Name| wanted.as_ref().is_none_or(|wanted| wanted == actual);
        is(&self.kind, &entry.event.name)
            && is(&self.lifecycle, &entry.lifecycle)
            && self.job_id.is_none_or(|job| job == entry.event.job_id)
            && is(&self.correlation_id, &entry.correlation_id)
            && self.user_id.as_ref().is_none_or(|user| entry.user_id.as_ref() == Some(user))
            && self.from.as_ref().is_none_or(|from| entry.event.from.as_ref() == Some(from))
            && is(&self.to, &entry.event.to)
    }
}

/// The filter has left out other users' jobs; a worker sees what it holds.
pub async fn may_see(service: &Service, caller: &Caller, entry: &JournalEntry) -> Result<bool, Problem> {
    if caller.role != Role::Worker {
        return Ok(true);
    }
    match service.store().job(entry.event.job_id).await? {
        Some(job) => service.may_see(caller, &job).await,
        None => Ok(false),
    }
}
