//! API keys: the roles, user and scopes of a caller. Only the digest of a secret is stored; the key itself is shown once.

use serde::{Deserialize, Serialize};

use crate::command::When;
use crate::id::{Actor, Name, QueueName, TypeName, UserId, WorkerId};
use crate::pattern;
use crate::time::{Millis, Timestamp};

named! {
    /// The permissions of a key.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Role {
        /// Creates jobs and reads those of its user.
        Producer = "producer",
        /// Claims and reports, and reads the jobs that it holds.
        Worker = "worker",
        /// Everything except keys.
        Operator = "operator",
        /// Reads everything, changes nothing.
        Viewer = "viewer",
        /// Everything.
        Admin = "admin",
    }
}

/// A set of roles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Roles(u8);

impl Roles {
    pub fn has(self, role: Role) -> bool {
        self.0 & Self::bit(role) != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.has(*role))
    }

    fn bit(role: Role) -> u8 {
        1 << role as u8
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<T: IntoIterator<Item = Role>>(roles: T) -> Self {
        Self(roles.into_iter().fold(0, |set, role| set | Self::bit(role)))
    }
}

/// Revoked but never deleted, so that the audit log stays complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// The public part of the key.
    pub id: Name,
    /// The first of its roles.
    pub role: Role,
    /// The user that owns the jobs created with the key.
    pub user_id: Option<UserId>,
    /// Digest of the secret part.
    pub digest: [u8; 32],
    pub created_at: Timestamp,
    pub created_by: Actor,
    pub revoked_at: Option<Timestamp>,
    pub details: Box<KeyDetails>,
    /// When a request was last authenticated with it, to the minute.
    pub last_used_at: Option<Timestamp>,
}

/// What a key has besides one role and a user. Keys of earlier versions have none of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeyDetails {
    /// Its roles after the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_roles: Vec<Role>,
    /// A description, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Scopes::is_empty")]
    pub scopes: Scopes,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotated_at: Option<Timestamp>,
    /// The secrets before the last rotations that may still be valid, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier_secrets: Vec<EarlierSecret>,
}

/// A secret that a rotation replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierSecret {
    pub digest: [u8; 32],
    pub valid_until: Timestamp,
}

impl ApiKey {
    pub fn roles(&self) -> impl Iterator<Item = Role> {
        std::iter::once(self.role).chain(self.details.more_roles.iter().copied())
    }

    /// Until when a secret of this key is valid: `None` is without limit. Refuses the secret if it is not valid now.
    pub fn valid_until(&self, digest: &[u8; 32], now: Timestamp) -> Result<Option<Timestamp>, KeyFlaw> {
        let earlier = || self.details.earlier_secrets.iter().find(|secret| secret.digest == *digest);
        let end = if self.digest == *digest {
            None
        } else {
            Some(earlier().ok_or(KeyFlaw::UnknownSecret)?.valid_until)
        };
        let ends = [end, self.details.expires_at];
        let first = ends.into_iter().flatten().min();
        match first {
            _ if self.revoked_at.is_some() => Err(KeyFlaw::Revoked),
            Some(end) if end <= now => Err(KeyFlaw::Expired),
            _ => Ok(first),
        }
    }
}

/// Why a secret of a key is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFlaw {
    #[error("it has another secret")]
    UnknownSecret,
    #[error("it is revoked")]
    Revoked,
    #[error("it, or this secret of it, has expired")]
    Expired,
}

/// What a caller is limited to, besides its roles. A field that is not set does not limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Scopes {
    /// Only jobs of these types. Sorted, without duplicates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<TypeName>>,
    /// Only jobs of these queues. Sorted, without duplicates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Vec<QueueName>>,
    /// Only jobs of this user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// Only workers with a name that matches: `*` is any text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<Name>,
    /// Only new jobs with at least this priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_min: Option<i32>,
    /// Only new jobs with at most this priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_max: Option<i32>,
}

impl Scopes {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether some jobs are out of scope.
    pub fn limits_jobs(&self) -> bool {
        self.types.is_some() || self.queues.is_some() || self.user_id.is_some()
    }

    pub fn admits_type(&self, job_type: &TypeName) -> bool {
        self.types.as_ref().is_none_or(|types| types.contains(job_type))
    }

    pub fn admits_queue(&self, queue: &QueueName) -> bool {
        self.queues.as_ref().is_none_or(|queues| queues.contains(queue))
    }

    pub fn admits_user(&self, user: Option<&UserId>) -> bool {
        self.user_id.is_none() || self.user_id.as_ref() == user
    }

    pub fn admits_job(&self, job_type: &TypeName, queue: &QueueName, user: Option<&UserId>) -> bool {
        self.admits_type(job_type) && self.admits_queue(queue) && self.admits_user(user)
    }

    pub fn admits_worker(&self, worker: &WorkerId) -> bool {
        self.worker.as_ref().is_none_or(|pattern| pattern::matches(pattern.as_str(), worker.as_str()))
    }

    pub fn admits_priority(&self, priority: i32) -> bool {
        self.priority_min.is_none_or(|min| min <= priority)
            && self.priority_max.is_none_or(|max| priority <= max)
    }
}

/// A caller's key, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// Generated by the submitting node, like the secret.
    pub id: Name,
    pub role: Role,
    /// Further roles, without duplicates.
    pub more_roles: Vec<Role>,
    /// Owner of the jobs that are created with the key; required for a producer's key.
    pub user_id: Option<UserId>,
    /// Digest of the secret.
    pub digest: [u8; 32],
    pub name: Option<Name>,
    /// `Now` is never.
    pub expires: When,
    pub scopes: Scopes,
}

impl NewKey {
    /// A key with one role, without an expiry and without scopes.
    pub fn new(id: impl Into<Name>, role: Role, user_id: Option<UserId>, digest: [u8; 32]) -> Self {
        let (id, more_roles, scopes) = (id.into(), Vec::new(), Scopes::default());
        Self { id, role, more_roles, user_id, digest, name: None, expires: When::Now, scopes }
    }

    pub fn roles(&self) -> impl Iterator<Item = Role> {
        std::iter::once(self.role).chain(self.more_roles.iter().copied())
    }

    /// When the key expires, if it is created at `now`.
    pub fn expires_at(&self, now: Timestamp) -> Option<Timestamp> {
        match self.expires {
            When::Now => None,
            When::At(at) => Some(at),
            When::In(span) => Some(now + span),
        }
    }

    /// Whether a key was created by a request like this one.
    pub fn describes(&self, key: &ApiKey) -> bool {
        let details = &key.details;
        self.role == key.role
            && self.user_id == key.user_id
            && self.more_roles == details.more_roles
            && self.name == details.name
            && self.scopes == details.scopes
            && self.expires_at(key.created_at) == details.expires_at
    }
}

/// A new secret for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotateKey {
    pub id: Name,
    /// Digest of the new secret.
    pub digest: [u8; 32],
    /// How long earlier secrets stay valid.
    pub overlap: Millis,
}

/// A key that was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    pub key: Name,
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_part_of_a_workers_name() {
        for (pattern, name, fits) in [
            ("ci-*", "ci-1", true),
            ("ci-*", "ci-", true),
            ("ci-*", "xci-1", false),
            ("*", "", true),
            ("ci", "ci", true),
            ("ci", "ci-1", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "ac", false),
            ("a*a", "a", false),
            ("*-gpu", "w1-gpu", true),
        ] {
            assert_eq!(pattern::matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn scopes_limit_only_what_they_name() {
        let none = Scopes::default();
        assert!(none.admits_job(&"a".into(), &"q".into(), None) && !none.limits_jobs());
        let scopes = Scopes {
            types: Some(vec!["a".into()]),
            queues: Some(vec!["q".into()]),
            user_id: Some("u".into()),
            priority_min: Some(-1),
            priority_max: Some(5),
            ..Scopes::default()
        };
        let user = Some(UserId::from("u"));
        assert!(scopes.admits_job(&"a".into(), &"q".into(), user.as_ref()));
        assert!(!scopes.admits_job(&"b".into(), &"q".into(), user.as_ref()));
        assert!(!scopes.admits_job(&"a".into(), &"r".into(), user.as_ref()));
        assert!(!scopes.admits_job(&"a".into(), &"q".into(), None));
        assert_eq!(
            [-2, -1, 5, 6].map(|priority| scopes.admits_priority(priority)),
            [false, true, true, false]
        );
    }

    #[test]
    fn stored_details_are_compact_and_read_back() {
        assert_eq!(serde_json::to_string(&KeyDetails::default()).unwrap(), "{}");
        let details = KeyDetails {
            more_roles: vec![Role::Worker],
            name: Some("ci".into()),
            expires_at: Some(Timestamp(1)),
            scopes: Scopes { worker: Some("ci-*".into()), ..Scopes::default() },
            rotated_at: Some(Timestamp(2)),
            earlier_secrets: vec![EarlierSecret { digest: [7; 32], valid_until: Timestamp(3) }],
        };
        let text = serde_json::to_string(&details).unwrap();
        assert_eq!(serde_json::from_str::<KeyDetails>(&text).unwrap(), details);
    }
}
