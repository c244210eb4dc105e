//! Automations: schedules, which create jobs at calendar times, webhooks, which send events to a URL, and open erasures of
//! users. All are stored alike: an id, the next due time, and the rest.

use serde::{Deserialize, Serialize};

use crate::erasure::Erasure;
use crate::id::Name;
use crate::limits;
use crate::schedule::Schedule;
use crate::time::Timestamp;
use crate::webhook::Webhook;

named! {
    pub enum AutomationKind {
        Schedule = "schedule",
        Webhook = "webhook",
        Erasure = "erasure",
    }
}

pub type AutomationId = (AutomationKind, Name);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Automation {
    Schedule(Schedule),
    Webhook(Webhook),
    Erasure(Erasure),
}

impl Automation {
    pub fn id(&self) -> AutomationId {
        match self {
            Self::Schedule(it) => (AutomationKind::Schedule, it.id.clone()),
            Self::Webhook(it) => (AutomationKind::Webhook, it.id.clone()),
            Self::Erasure(it) => (AutomationKind::Erasure, it.id()),
        }
    }

    pub fn into_schedule(self) -> Option<Schedule> {
        match self {
            Self::Schedule(it) => Some(it),
            Self::Webhook(_) | Self::Erasure(_) => None,
        }
    }

    pub fn into_webhook(self) -> Option<Webhook> {
        match self {
            Self::Webhook(it) => Some(it),
            Self::Schedule(_) | Self::Erasure(_) => None,
        }
    }

    /// The stored part of an error text.
    pub(crate) fn clipped(error: &str) -> String {
        error.chars().take(limits::AUTOMATION_ERROR_CHARS_MAX).collect()
    }

    /// When it is due next; `None` while it is paused or disabled.
    pub fn due_at(&self) -> Option<Timestamp> {
        match self {
            Self::Schedule(it) => it.next_at,
            Self::Webhook(it) => it.due_at,
            Self::Erasure(it) => Some(it.requested_at),
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

impl From<Erasure> for Automation {
    fn from(it: Erasure) -> Self {
        Self::Erasure(it)
    }
}
