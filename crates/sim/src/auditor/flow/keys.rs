//! The keys of a job, computed from its payload.

use serde_json::Value;
use tenure_core::flow::FlowKeys;
use tenure_core::id::TypeName;

use crate::fixtures::flow::{ResourceRules, SHARED_QUEUE, TypeRules};
use crate::prelude::*;

/// A resource and the key of one of its buckets.
pub(in crate::auditor) type Bucket = (String, Option<String>);
/// A type and the key of one of its sequences.
pub(in crate::auditor) type SequenceKey = (TypeName, String);

/// The key of a group; `None` if all jobs of the type are grouped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::auditor) struct GroupKey(Option<String>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::auditor) struct KeysModel {
    /// Buckets with units.
    pub(in crate::auditor) demands: Vec<(Bucket, u64)>,
    pub(in crate::auditor) unique: Option<String>,
    pub(in crate::auditor) sequence: Option<String>,
    pub(in crate::auditor) share: Option<String>,
    pub(in crate::auditor) batch: Option<GroupKey>,
}

impl KeysModel {
    /// The keys that the rules of its type give a job with this payload.
    pub(in crate::auditor) fn of(spec: &Spec, payload: &Json) -> Self {
        let payload = payload.to_value().unwrap_or_default();
        let is_shared = spec.queue.as_str() == SHARED_QUEUE;
        let share = spec.user_id.as_ref().map(ToString::to_string).filter(|_| is_shared);
        let Some(rules) = TypeRules::of(spec.job_type.as_str()) else {
            return Self { share, ..Self::default() };
        };
        let key = |field: &str| text(payload.get(field));
        let demand = |&(name, units): &(&str, u64)| {
            let field = ResourceRules::of(name)?.key;
            let value = field.map(key);
            // Without a value the job is outside the rule.
            (value != Some(None)).then(|| ((name.to_owned(), value.flatten()), units))
        };
        let batch = rules.batch.as_ref().and_then(|batch| match batch.key {
            None => Some(GroupKey(None)),
            Some(field) => key(field).map(|key| GroupKey(Some(key))),
        });
        Self {
            demands: rules.uses.iter().filter_map(demand).collect(),
            unique: rules.unique.and_then(|(field, _)| key(field)),
            sequence: rules.sequence.and_then(|(field, _)| key(field)),
            share,
            batch,
        }
    }

    /// The keys of a row.
    pub(in crate::auditor) fn of_row(keys: &FlowKeys) -> Self {
        let text = |name: &Option<Name>| name.as_ref().map(ToString::to_string);
        let demands = keys.resources.iter();
        Self {
            demands: demands.map(|it| ((it.resource.to_string(), text(&it.key)), it.units)).collect(),
            unique: text(&keys.unique),
            sequence: text(&keys.sequence),
            share: text(&keys.share),
            batch: keys.batch.as_ref().map(|batch| GroupKey(text(&batch.key))),
        }
    }

    pub(in crate::auditor) fn line(&self, spec: &Spec) -> Option<SequenceKey> {
        Some((spec.job_type.clone(), self.sequence.clone()?))
    }

    /// The units that a lease of the job uses of a bucket.
    pub(in crate::auditor) fn units_of(&self, bucket: &Bucket) -> u64 {
        self.demands.iter().filter(|(used, _)| used == bucket).map(|(_, units)| units).sum()
    }
}

/// A value as the text of a key: 7 and "7" are one key.
fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
