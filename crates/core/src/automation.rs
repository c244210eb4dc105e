//! Standing orders: what an operator sets up once and Tenure then does by itself, again and again. A schedule makes jobs
//! at its times; a webhook sends events to a URL. Both are kept alike: a name, when something is due, and the rest.

use serde::{Deserialize, Serialize};

use crate::id::Name;
use crate::limits;
use crate::schedule::Schedule;
use crate::time::Timestamp;
use crate::webhook::Webhook;

/// Which kind of standing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AutomationKind {
    /// Makes jobs.
    Schedule,
    /// Sends events.
    Webhook,
}

impl AutomationKind {
    /// Its name in stores and refusals.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Webhook => "webhook",
        }
    }
}

/// Kind and name: what an order is known by.
pub type AutomationId = (AutomationKind, Name);

/// A standing order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Automation {
    /// Makes jobs.
    Schedule(Schedule),
    /// Sends events.
    Webhook(Webhook),
}

impl Automation {
    /// What it is known by.
    pub fn id(&self) -> AutomationId {
        match self {
            Self::Schedule(it) => (AutomationKind::Schedule, it.id.clone()),
            Self::Webhook(it) => (AutomationKind::Webhook, it.id.clone()),
        }
    }

    /// Why something came to nothing, as far as an order keeps it.
    pub(crate) fn clipped(error: &str) -> String {
        error.chars().take(limits::AUTOMATION_ERROR_CHARS_MAX).collect()
    }

    /// When a node should look at it; never, while it rests.
    pub fn due_at(&self) -> Option<Timestamp> {
        match self {
            Self::Schedule(it) => it.next_at,
            Self::Webhook(it) => it.due_at,
        }
    }
}

impl From<Schedule> for Automation {
    fn from(it: Schedule) -> Self {
        Self::Schedule(it)
    }
}

impl From<Webhook> for Automation {
    fn from(it: Webhook) -> Self {
        Self::Webhook(it)
    }
}
