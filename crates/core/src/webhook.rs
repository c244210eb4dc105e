//! Webhooks: events sent to a URL, in the journal's order, each at least once. Which node sends, and how far it is, is
//! decided here; sending is the server's.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{Actor, LifecycleName, Name, Position, TypeName, UserId};
use crate::time::{Millis, Timestamp};

/// What signs the deliveries. It is kept as it is, since signing needs it, and shown once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Which events are sent. `None` is any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventFilter {
    /// Of jobs of this type.
    #[serde(rename = "type")]
    pub job_type: Option<TypeName>,
    /// Of jobs that follow this lifecycle.
    pub lifecycle: Option<LifecycleName>,
    /// With this name: `job_succeeded`.
    pub event: Option<Name>,
    /// Of this user's jobs.
    pub user_id: Option<UserId>,
}

/// A webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// Its name.
    pub id: Name,
    /// Where to.
    pub url: String,
    /// What signs.
    pub secret: Secret,
    /// Which events.
    pub filter: EventFilter,
    /// When it was made.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: Actor,
    /// Everything up to here was sent, or is not meant.
    pub position: Position,
    /// Tries of the event after that which have failed.
    pub failures: u32,
    /// The node that sends.
    pub holder: Option<Name>,
    /// When another node may take over, or the next try is due; never, once it is disabled.
    pub due_at: Option<Timestamp>,
    /// Since when nothing is sent.
    pub disabled_at: Option<Timestamp>,
    /// The last status that came back.
    pub last_status: Option<u16>,
    /// What went wrong the last time.
    pub last_error: Option<String>,
}

/// A webhook that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWebhook {
    /// Its name.
    pub id: Name,
    /// Where to.
    pub url: String,
    /// What signs.
    pub secret: Secret,
    /// Which events.
    pub filter: EventFilter,
    /// Events after this are sent.
    pub position: Position,
}

/// What happens to a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookChange {
    /// A node sends from now on, unless another does.
    Take {
        /// The node.
        holder: Name,
        /// How long, if it says no more.
        span: Millis,
    },
    /// Everything up to a position was sent; the node goes on.
    Sent {
        /// The node.
        holder: Name,
        /// How long it goes on, if it says no more.
        span: Millis,
        /// Up to here.
        position: Position,
        /// What came back, if anything was sent.
        status: Option<u16>,
    },
    /// A try failed.
    Failed {
        /// The node.
        holder: Name,
        /// Everything up to here was sent, or is not meant.
        position: Position,
        /// What came back, if anything.
        status: Option<u16>,
        /// What went wrong.
        error: String,
        /// When to try again; no more, if `None`: it is disabled.
        retry_in: Option<Millis>,
    },
    /// One that was disabled sends again, from where it stood.
    Enable,
    /// It is forgotten.
    Remove,
}
