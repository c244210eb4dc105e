//! Callers: their roles, user and scopes, from an API key, from a JWT, or none of these in open mode.

use std::sync::LazyLock;

pub use tenure_api::Right;
pub use tenure_core::api_key::Roles;
use tenure_core::api_key::Scopes;
use tenure_core::command::Reader;
use tenure_core::command_origin::CommandOrigin;
use tenure_core::id::Actor;
use tenure_core::job::Spec;
use tenure_core::job_type::Catalog;
use tenure_runtime::NewJob;

use crate::listing::is_leased;
use crate::prelude::*;

#[derive(Clone, Debug)]
pub struct Caller {
    pub roles: Roles,
    /// The user whose jobs a producer may see and change.
    pub user: Option<UserId>,
    /// `key:…`, `jwt:…`, or `open` on a server without keys.
    pub credential: Name,
    /// When the key, its secret or the token expires.
    pub expires_at: Option<Timestamp>,
    /// What it is limited to, besides its roles.
    pub scopes: Arc<Scopes>,
    /// Digest of the secret of the key that it presented.
    pub secret: Option<[u8; 32]>,
    /// Digest of the id of its session, if it has one.
    pub session: Option<Name>,
}

impl Caller {
    /// A caller with one role, without scopes and without an end.
    pub fn new(role: Role, user: Option<UserId>, credential: Name) -> Self {
        static NO_SCOPES: LazyLock<Arc<Scopes>> = LazyLock::new(Arc::default);
        let (roles, scopes) = (Roles::from_iter([role]), Arc::clone(&NO_SCOPES));
        Self { roles, user, credential, expires_at: None, scopes, secret: None, session: None }
    }

    /// The caller of every request to a server without keys, which listens on loopback only.
    pub fn open() -> Self {
        static OPEN: LazyLock<Name> = LazyLock::new(|| "open".into());
        Self::new(Role::Admin, None, OPEN.clone())
    }

    pub fn has(&self, role: Role) -> bool {
        self.roles.has(role)
    }

    /// Refuses a caller without the right.
    pub fn may(&self, right: Right) -> Result<()> {
        if self.is(right) { Ok(()) } else { Err(self.lacks_right()) }
    }

    /// The refusal of a caller that lacks a right.
    pub fn lacks_right(&self) -> Problem {
        let roles: Vec<&str> = self.roles.iter().map(Role::as_str).collect();
        let noun = if roles.len() == 1 { "role" } else { "roles" };
        let limited = if self.scopes.limits_jobs() { ", limited to some jobs," } else { "" };
        Problem::forbidden(format!("the {noun} {}{limited} may not do this", roles.join(", ")))
    }

    /// Whether one of its roles has the right. A caller that is limited to some jobs has no right to the whole system.
    pub fn is(&self, right: Right) -> bool {
        let is_limited = right.is_about_system() && self.scopes.limits_jobs();
        !is_limited && self.roles.iter().any(|role| right.roles().contains(&role.as_str()))
    }

    /// The actor in events: the user of a producer, otherwise role and credential. The role that allows the most counts.
    pub fn actor(&self) -> Actor {
        let order = [Role::Admin, Role::Operator, Role::Producer, Role::Worker, Role::Viewer];
        let role = order.into_iter().find(|role| self.has(*role)).unwrap_or(Role::Viewer);
        match (role, &self.user) {
            (Role::Producer, Some(user)) => Actor(["user:", user.as_str()].concat().into()),
            (role, _) => {
                let id = self.credential.as_str();
                let id = id.split_once(':').map_or(id, |(_, id)| id);
                Actor([role.as_str(), ":", id].concat().into())
            }
        }
    }

    /// The origin of the caller's commands.
    pub fn origin(&self) -> CommandOrigin {
        let (roles, user) = (self.roles, self.user.clone());
        CommandOrigin { actor: self.actor(), credential: Some(self.credential.clone()), roles, user }
    }

    /// Whether it sees the jobs of all users, as far as they are in its scopes.
    pub fn sees_all_users(&self) -> bool {
        [Role::Operator, Role::Viewer, Role::Admin].into_iter().any(|role| self.has(role))
    }

    /// Whether it may change the jobs of all users, as far as they are in its scopes.
    pub fn manages_all_users(&self) -> bool {
        self.has(Role::Operator) || self.has(Role::Admin)
    }

    /// Whether it is a producer of this user.
    pub fn owns(&self, user: Option<&UserId>) -> bool {
        self.has(Role::Producer) && user.is_some() && user == self.user.as_ref()
    }

    pub fn has_in_scope(&self, spec: &Spec) -> bool {
        self.scopes.admits_job(&spec.job_type, &spec.queue, spec.user_id.as_ref())
    }

    /// Restricts a listing to what the caller may see. A producer that is also a worker lists the jobs of its user, or, by
    /// worker or phase, those that it holds.
    pub fn narrow(&self, filter: &mut JobFilter) -> Result<()> {
        let lists_held = self.has(Role::Worker) && (filter.worker.is_some() || is_leased(filter));
        if self.has(Role::Producer) && !self.sees_all_users() && !lists_held {
            if filter.user_id.is_some() && filter.user_id != self.user {
                return Err(Problem::forbidden("a producer lists only jobs of its user"));
            }
            filter.user_id.clone_from(&self.user);
        }
        self.narrow_to_scopes(filter)
    }

    /// Scopes of one type, queue or user become part of the filter; others are applied to what it finds.
    fn narrow_to_scopes(&self, filter: &mut JobFilter) -> Result<()> {
        fn only<T: Clone>(names: Option<&Vec<T>>) -> Option<T> {
            names.filter(|names| names.len() == 1).map(|names| names[0].clone())
        }
        let scopes = &self.scopes;
        let is_outside = filter.job_type.as_ref().is_some_and(|name| !scopes.admits_type(name))
            || filter.queue.as_ref().is_some_and(|name| !scopes.admits_queue(name))
            || (filter.user_id.is_some() && !scopes.admits_user(filter.user_id.as_ref()));
        if is_outside {
            return Err(Problem::forbidden("the scopes of this key do not include these jobs"));
        }
        filter.job_type = filter.job_type.take().or_else(|| only(scopes.types.as_ref()));
        filter.queue = filter.queue.take().or_else(|| only(scopes.queues.as_ref()));
        filter.user_id = filter.user_id.take().or_else(|| scopes.user_id.clone());
        Ok(())
    }

    /// Refuses a new job that is out of scope.
    pub fn may_create(&self, catalog: &Catalog, new: &NewJob) -> Result<()> {
        if self.scopes.is_empty() {
            return Ok(());
        }
        let job_type = catalog.job_type(new.job_type.as_str());
        let queue = new.queue.as_ref().or_else(|| Some(&job_type?.queue));
        let priority = new.priority.or_else(|| Some(job_type?.priority));
        let scopes = &self.scopes;
        let is_in_scope = scopes.admits_type(&new.job_type)
            && queue.is_none_or(|queue| scopes.admits_queue(queue))
            && scopes.admits_user(new.user_id.as_ref());
        in_scope(is_in_scope, &new.job_type)?;
        priority.map_or(Ok(()), |priority| self.may_create_with(priority))
    }

    /// The existing jobs that a creation may answer with, and those that it may change.
    pub fn reader(&self) -> Reader {
        let own_user = (!self.sees_all_users()).then(|| self.user.clone());
        let own_changes = (!self.manages_all_users()).then(|| self.user.clone());
        Reader { own_user, own_changes, scopes: Arc::clone(&self.scopes) }
    }

    /// Refuses a copy of a job that is out of scope.
    pub fn may_create_like(&self, job: &Job) -> Result<()> {
        in_scope(self.has_in_scope(&job.spec), &job.spec.job_type)?;
        // An amendment may have changed it.
        self.may_create_with(job.priority())
    }

    /// Refuses a priority that is out of scope.
    pub fn may_create_with(&self, priority: i32) -> Result<()> {
        if self.scopes.admits_priority(priority) {
            return Ok(());
        }
        Err(Problem::forbidden(format!("the scopes of this key do not include the priority {priority}")))
    }
}

fn in_scope(is_in_scope: bool, job_type: &str) -> Result<()> {
    if is_in_scope {
        return Ok(());
    }
    let job_type = job_type.escape_debug();
    Err(Problem::forbidden(format!("the scopes of this key do not include this job of type {job_type}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_roles(roles: &[Role]) -> Caller {
        let one = Caller::new(Role::Viewer, Some("u1".into()), "key:k".into());
        Caller { roles: roles.iter().copied().collect(), ..one }
    }

    fn scoped(role: Role, scopes: Scopes) -> Caller {
        Caller { scopes: Arc::new(scopes), ..with_roles(&[role]) }
    }

    #[test]
    fn several_roles_have_the_rights_of_each() {
        let both = with_roles(&[Role::Producer, Role::Worker]);
        assert!(both.is(Right::ManageJobs) && both.is(Right::Work) && !both.is(Right::ReadSystem));
        assert!(!both.sees_all_users() && both.owns(Some(&"u1".into())) && !both.owns(None));
        assert_eq!(both.actor().as_str(), "user:u1");
        let watching = with_roles(&[Role::Producer, Role::Viewer]);
        assert!(watching.sees_all_users() && !watching.manages_all_users());
        assert_eq!(with_roles(&[Role::Viewer, Role::Operator]).actor().as_str(), "operator:k");
    }

    #[test]
    fn a_caller_that_is_limited_to_some_jobs_has_no_right_to_the_system() {
        let types = Scopes { types: Some(vec!["a".into()]), ..Scopes::default() };
        let operator = scoped(Role::Operator, types);
        assert!(operator.is(Right::Operate) && operator.is(Right::ReadDeadLetters));
        assert!(!operator.is(Right::ReadSystem) && !operator.is(Right::ManageSystem));
        let priority = Scopes { priority_max: Some(1), ..Scopes::default() };
        assert!(scoped(Role::Operator, priority).is(Right::ManageSystem));
    }

    #[test]
    fn a_listing_is_narrowed_to_scopes() {
        let types = Scopes {
            types: Some(vec!["a".into()]),
            queues: Some(vec!["q".into(), "r".into()]),
            ..Scopes::default()
        };
        let viewer = scoped(Role::Viewer, types);
        let mut filter = JobFilter::default();
        viewer.narrow(&mut filter).unwrap();
        assert_eq!((filter.job_type, filter.queue), (Some("a".into()), None));
        let mut outside = JobFilter { queue: Some("other".into()), ..JobFilter::default() };
        assert_eq!(viewer.narrow(&mut outside).unwrap_err().code(), "forbidden");
    }

    #[test]
    fn a_producer_that_is_also_a_worker_lists_its_users_jobs_or_what_it_holds() {
        let both = with_roles(&[Role::Producer, Role::Worker]);
        let mut filter = JobFilter::default();
        both.narrow(&mut filter).unwrap();
        assert_eq!(filter.user_id, Some("u1".into()));
        let mut held = JobFilter { worker: Some("w".into()), ..JobFilter::default() };
        both.narrow(&mut held).unwrap();
        assert_eq!(held.user_id, None);
    }
}
