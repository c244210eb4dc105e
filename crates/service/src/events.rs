//! Filters for events of the journal, and which events a caller may see.

use tenure_store::JournalEntry;

use crate::prelude::*;
use crate::query::QueryParams;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    kind: Option<Name>,
    lifecycle: Option<LifecycleName>,
    job_id: Option<JobId>,
    correlation_id: Option<Name>,
    user_id: Option<UserId>,
    /// Only the dashboard filters by states.
    pub from: Option<StateName>,
    pub to: Option<StateName>,
}

fn matches<T: PartialEq>(wanted: Option<&T>, actual: &T) -> bool {
    wanted.is_none_or(|wanted| wanted == actual)
}

impl EventFilter {
    pub fn read(params: &mut QueryParams, caller: &Caller) -> Result<Self> {
        let mut filter = Self {
            kind: params.name("type")?,
            lifecycle: params.name("lifecycle")?,
            job_id: params.id("job_id")?,
            correlation_id: params.name("correlation_id")?,
            user_id: params.name("user_id")?,
            ..Self::default()
        };
        if caller.has(Role::Producer) && !caller.has(Role::Worker) && !caller.sees_all_users() {
            if filter.user_id.is_some() && filter.user_id != caller.user {
                return Err(Problem::forbidden("a producer reads only events of its user"));
            }
            filter.user_id.clone_from(&caller.user);
        }
        Ok(filter)
    }

    pub fn admits(&self, entry: &JournalEntry) -> bool {
        let event = &entry.event;
        matches(self.kind.as_ref(), &event.name)
            && matches(self.lifecycle.as_ref(), &entry.lifecycle)
            && matches(self.job_id.as_ref(), &event.job_id)
            && matches(self.correlation_id.as_ref(), &entry.correlation_id)
            && matches(self.to.as_ref(), &event.to)
            && (self.user_id.is_none() || self.user_id == entry.user_id)
            && (self.from.is_none() || self.from == event.from)
    }
}

/// Whether the caller may see an event that [`EventFilter`] admits: producers see those of their user, workers those of
/// jobs that they hold, and all only those in their scopes.
pub async fn may_see(service: &Service, caller: &Caller, entry: &JournalEntry) -> Result<bool> {
    if !caller.scopes.admits_job(&entry.job_type, &entry.queue, entry.user_id.as_ref()) {
        return Ok(false);
    }
    if caller.sees_all_users() || caller.owns(entry.user_id.as_ref()) {
        return Ok(true);
    }
    if !caller.has(Role::Worker) {
        return Ok(false);
    }
    match service.store().job(entry.event.job_id).await? {
        Some(job) => service.may_see(caller, &job).await,
        None => Ok(false),
    }
}
