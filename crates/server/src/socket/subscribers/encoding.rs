//! Encodes events as a lifecycle declares them: the events' names, the fields each carries, and the aliases of former
//! names.

use serde::Serialize;
use serde_json::value::to_raw_value;
use tenure_api::JobOf;
use tenure_core::event::Event;
use tenure_core::id::StateName;
use tenure_core::lifecycle::{Lifecycle, Trigger};
use tenure_core::time::Now;

use crate::lifecycle_api::field_names::FieldNames;
use crate::prelude::*;

/// The fields of an event that `[api.events]` does not name.
const DEFAULT_FIELDS: [&str; 3] = ["id", "type", "state"];
/// The name of progress events, unless the lifecycle declares one in another case.
const PROGRESS: &str = "job_progress";

/// The names of one lifecycle.
#[derive(Debug, Default)]
pub(super) struct EventEncoder {
    names: FieldNames,
    /// Events, and the canonical fields that each carries.
    events: Vec<(String, Vec<String>)>,
    /// States, and their former names.
    states: Vec<(StateName, Option<StateName>)>,
}

/// Every field that an event can carry: those of its job, and those of the event itself.
#[derive(Serialize)]
struct EventFields<'a> {
    #[serde(flatten)]
    job: JobOf<Borrowed<'a>>,
    job_id: JobId,
    trigger: &'a Trigger,
    from: &'a Option<StateName>,
    to: &'a StateName,
    ts: Timestamp,
    actor: &'a Actor,
    cause: &'a Option<Name>,
    version: u32,
}

/// An event's names, and its data.
pub(super) struct EncodedEvent {
    pub(super) names: Vec<String>,
    pub(super) data: Box<RawValue>,
}

impl EventEncoder {
    pub(super) fn new(lifecycle: &Lifecycle) -> Self {
        let (fields, events) =
            lifecycle.api.as_ref().map(|api| (api.fields.as_slice(), api.events.clone())).unwrap_or_default();
        let states = lifecycle.states.iter().map(|state| (state.name.clone(), state.alias.clone()));
        Self { names: FieldNames::new(fields), events, states: states.collect() }
    }

    /// Whether any event carries part of the payload.
    pub(super) fn needs_payload(&self) -> bool {
        let is_payload = |field: &String| field.split('.').next() == Some("payload");
        self.events.iter().any(|(_, fields)| fields.iter().any(is_payload))
    }

    pub(super) fn transition(&self, event: &Event, job: &Job, now: Now) -> EncodedEvent {
        let name = event.name.to_string();
        let state = self.states.iter().find(|(state, _)| *state == event.to);
        let alias = state.map(|(state, alias)| format!("job_{}", alias.as_ref().unwrap_or(state)));
        let fields = EventFields {
            job: wire::job(job, now),
            job_id: event.job_id,
            trigger: &event.trigger,
            from: &event.from,
            to: &event.to,
            ts: event.ts,
            actor: &event.actor,
            cause: &event.cause,
            version: 1,
        };
        self.encode(name, alias, &fields, &DEFAULT_FIELDS)
    }

    pub(super) fn progress(&self, job: &Job, now: Now) -> EncodedEvent {
        let declared = self.events.iter().map(|(name, _)| name);
        let name = declared.into_iter().find(|name| name.eq_ignore_ascii_case(PROGRESS));
        let name = name.map_or_else(|| PROGRESS.to_owned(), String::clone);
        let alias = Some(PROGRESS.to_owned());
        self.encode(name, alias, &wire::job(job, now), &["id", "type", "state", "progress"])
    }

    /// Picks the declared fields, or the default ones. The alias is sent too if the lifecycle has any former names.
    fn encode(
        &self,
        name: String,
        alias: Option<String>,
        fields: &impl Serialize,
        default_fields: &[&str],
    ) -> EncodedEvent {
        let fields = to_raw_value(fields).expect("keys are strings and numbers are finite");
        let declared = self.events.iter().find(|(event, _)| *event == name);
        let picked = if let Some((_, picked)) = declared {
            self.names.pick(&fields, picked)
        } else {
            let picked: Vec<String> = default_fields.iter().map(ToString::to_string).collect();
            self.names.pick(&fields, &picked)
        };
        let has_aliases = self.states.iter().any(|(_, alias)| alias.is_some());
        let alias = alias.filter(|alias| has_aliases && *alias != name);
        EncodedEvent { names: std::iter::once(name).chain(alias).collect(), data: picked }
    }
}
