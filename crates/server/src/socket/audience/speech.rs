//! How a lifecycle tells of what happens: the names of its events, the fields that each carries, and its old words while
//! it has any.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tenure_core::event::Event;
use tenure_core::id::Name;
use tenure_core::job::Job;
use tenure_core::lifecycle::Lifecycle;
use tenure_core::time::Now;
use tenure_core::wire::JobForm;

use crate::door::words::Words;

/// What an event carries that `[api.events]` does not name.
const UNNAMED: [&str; 3] = ["id", "type", "state"];
/// What progress is called where the lifecycle has no word for it.
const PROGRESS: &str = "job_progress";

/// The words of one lifecycle.
#[derive(Debug, Default)]
pub(super) struct Speech {
    words: Words,
    /// Event, and the canonical fields that it carries.
    events: Vec<(String, Vec<String>)>,
    /// State, and what it was called before.
    states: Vec<(Name, Option<Name>)>,
}

/// What only an event has, beside its job.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    job: JobForm<'a>,
    job_id: tenure_core::id::JobId,
    trigger: &'a tenure_core::lifecycle::Trigger,
    from: &'a Option<Name>,
    to: &'a Name,
    ts: tenure_core::time::Timestamp,
    actor: &'a tenure_core::id::Actor,
    cause: &'a Option<Name>,
    version: u32,
}

impl Speech {
    pub(super) fn of(lifecycle: &Lifecycle) -> Self {
        let (fields, events) =
            lifecycle.api.as_ref().map(|api| (api.fields.as_slice(), api.events.clone())).unwrap_or_default();
        let states = lifecycle.states.iter().map(|state| (state.name.clone(), state.alias.clone()));
        Self { words: Words::new(fields), events, states: states.collect() }
    }

    /// Whether any event carries something of the payload.
    pub(super) fn picks_payload(&self) -> bool {
        let is_payload = |field: &String| field.split('.').next() == Some("payload");
        self.events.iter().any(|(_, fields)| fields.iter().any(is_payload))
    }

    /// What a transition is called, and what it carries.
    pub(super) fn event(&self, event: &Event, job: &Job, now: Now) -> (Vec<String>, Box<RawValue>) {
        let name = event.name.to_string();
        let old = self.old(|states| {
            let state = states.iter().find(|(state, _)| *state == event.to)?;
            Some(format!("job_{}", state.1.as_ref().unwrap_or(&state.0)))
        });
        let told = Told {
            job: JobForm::new(job, now),
            job_id: event.job_id,
            trigger: &event.trigger,
            from: &event.from,
            to: &event.to,
            ts: event.ts,
            actor: &event.actor,
            cause: &event.cause,
            version: 1,
        };
        let told = to_raw_value(&told).expect("our values have string keys and finite numbers");
        let data = self.words.pick(&told, &self.fields(&name, &UNNAMED));
        (named(name, old), data)
    }

    /// What progress is called, and what it carries.
    pub(super) fn progress(&self, job: &Job, now: Now) -> (Vec<String>, Box<RawValue>) {
        let is_progress = |name: &&String| name.eq_ignore_ascii_case(PROGRESS);
        let name = self.events.iter().map(|(name, _)| name).find(is_progress);
        let name = name.map_or_else(|| PROGRESS.to_owned(), String::clone);
        let told = to_raw_value(&JobForm::new(job, now)).expect("our values have string keys");
        let fields = self.fields(&name, &["id", "type", "state", "progress"]);
        let old = self.old(|_| Some(PROGRESS.to_owned()));
        (named(name, old), self.words.pick(&told, &fields))
    }

    fn fields(&self, name: &str, unnamed: &[&str]) -> Vec<String> {
        let named = self.events.iter().find(|(event, _)| event == name);
        named.map_or_else(|| unnamed.iter().map(ToString::to_string).collect(), |(_, fields)| fields.clone())
    }

    /// The old name, while the lifecycle has old names.
    fn old(&self, name: impl FnOnce(&[(Name, Option<Name>)]) -> Option<String>) -> Option<String> {
        let has_alias = self.states.iter().any(|(_, alias)| alias.is_some());
        if has_alias { name(&self.states) } else { None }
    }
}

/// Both names, but not the same one twice.
fn named(name: String, old: Option<String>) -> Vec<String> {
    let old = old.filter(|old| *old != name);
    std::iter::once(name).chain(old).collect()
}
