//! Automations: schedules, which create jobs at calendar times, and webhooks, which send events to a URL. Both are stored
//! alike: an id, the next due time, and the rest.

use serde::{Deserialize, Serialize};

use crate::id::Name;
use crate::limits;
use crate::schedule::Schedule;
use crate::time::Timestamp;
use crate::webhook::Webhook;

named! {
    pub enum AutomationKind {
        Schedule = "schedule",
        Webhook = "webhook",
    }
}

pub type AutomationId = (AutomationKind, Name);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Automation {
    Schedule(Schedule),
    Webhook(Webhook),
}

impl Automation {
    pub fn id(&self) -> AutomationId {
        match self {
            Self::Schedule(it) => (AutomationKind::Schedule, it.id.clone()),
            Self::Webhook(it) => (AutomationKind::Webhook, it.id.clone()),
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
