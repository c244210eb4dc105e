//! Webhooks: events sent to a URL in journal order, at least once. `decide` records which node sends and its position; the
//! server sends.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{Actor, LifecycleName, Name, Position, TypeName, UserId};
use crate::time::{Millis, Timestamp};

/// Signs the deliveries. Stored in plain text, since signing needs it, and shown once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// `None` is any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventFilter {
    #[serde(rename = "type")]
    pub job_type: Option<TypeName>,
    pub lifecycle: Option<LifecycleName>,
    /// The event name, such as `job_succeeded`.
    pub event: Option<Name>,
    pub user_id: Option<UserId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    pub id: Name,
    pub url: String,
    pub secret: Secret,
    pub filter: EventFilter,
    pub created_at: Timestamp,
    pub created_by: Actor,
    /// All matching events up to here were delivered.
    pub position: Position,
    /// Failed deliveries of the next event.
    pub failures: u32,
    pub holder: Option<Name>,
    /// When another node may take over or the next delivery is due; `None` once it is disabled.
    pub due_at: Option<Timestamp>,
    pub disabled_at: Option<Timestamp>,
    /// The HTTP status of the last delivery.
    pub last_status: Option<u16>,
    pub last_error: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWebhook {
    pub id: Name,
    pub url: String,
    pub secret: Secret,
    pub filter: EventFilter,
    /// Events after this position are sent.
    pub position: Position,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookChange {
    /// A node becomes the sender, unless another is.
    Take {
        holder: Name,
        /// Until another node may take over.
        span: Millis,
    },
    /// All events up to a position were delivered.
    Sent {
        holder: Name,
        /// Until another node may take over.
        span: Millis,
        position: Position,
        /// The HTTP status, if an event was sent.
        status: Option<u16>,
    },
    /// A delivery failed.
    Failed {
        holder: Name,
        /// All matching events up to here were delivered.
        position: Position,
        /// The HTTP status, if there was a response.
        status: Option<u16>,
        error: String,
        /// `None` disables the webhook.
        retry_in: Option<Millis>,
    },
    /// Sends the events after an earlier position again. The report of the present sender is refused.
    Replay(Position),
    /// Stops deliveries until it is enabled. The report of the present sender is refused.
    Disable,
    /// Continues at the stored position.
    Enable,
    Remove,
}

impl WebhookChange {
    /// The verb in idempotency scopes.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Self::Take { .. } => "take",
            Self::Sent { .. } => "sent",
            Self::Failed { .. } => "failed",
            Self::Replay(_) => "replay",
            Self::Disable => "disable",
            Self::Enable => "enable",
            Self::Remove => "remove",
        }
    }
}
