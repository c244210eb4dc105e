//! Conversions from the engine's records to the types of the API. Jobs and events are converted to a borrowed form, which is
//! written without copies and keeps numbers of callers' JSON exact.

/// Makes a record of the API from one of the engine: the fields before the semicolon are converted, the others given.
macro_rules! convert {
    ($record:expr => $Type:ident { $($same:ident),+ $(; $($given:tt)+)? }) => {
        $Type { $($same: $crate::wire::ToWire::to_wire(&$record.$same),)+ $($($given)+)? }
    };
}

/// Implements [`ToWire`] for records that are parts of others; `it` is the record of the engine.
macro_rules! conversions {
    ($($Record:path as $it:ident => $Type:ident { $($fields:tt)+ })+) => {
        $(impl $crate::wire::ToWire<$Type> for $Record {
            fn to_wire(&self) -> $Type {
                let $it = self;
                convert!($it => $Type { $($fields)+ })
            }
        })+
    };
}

mod automations;
mod flow;
mod history;
mod job;
mod lifecycle;
mod operators;
mod stats;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::marker::PhantomData;

use serde::{Serialize, Serializer};
use tenure_api::Form;
use tenure_core::event::Facts;
use tenure_core::job::{Category, Class, Stage};
use tenure_core::json::Json;
use tenure_core::lifecycle::Trigger;

pub use automations::{schedule, webhook};
pub use flow::{resource, sequence};
pub use history::{dead_letter, event, log_line, telemetry};
pub use job::{
    ClaimedTrace, JobExtras, JobView, brief, cancel_mode, explanation, final_status, heartbeat_answer, job,
    job_with,
};
pub use lifecycle::{job_type, lifecycle, lifecycle_summary, what_if};
pub use operators::{account, api_key, asset, audit_line, ledger_line, worker};
pub use stats::{stats, stats_history};

use crate::prelude::*;

/// Answers whose values are borrowed from the engine's records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Borrowed<'a>(PhantomData<&'a ()>);

impl<'a> Form for Borrowed<'a> {
    type Id = JobId;
    type Text = Text<'a>;
    type Time = Timestamp;
    type Json = &'a Json;
    type Object = &'a Facts;
    type Times = Entered<'a>;
}

/// A text of a borrowed answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Text<'a> {
    Str(&'a str),
    Owned(String),
    Shared(Name),
    Id(JobId),
    /// The trace id in a `traceparent`.
    TraceId(Name),
    Category(Category),
    Class(Class),
    Stage(Stage),
    Trigger(&'a Trigger),
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self::Str(text)
    }
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Str(text) => to.serialize_str(text),
            Self::Owned(text) => to.serialize_str(text),
            Self::Shared(text) => to.serialize_str(text.as_str()),
            Self::Id(id) => id.serialize(to),
            Self::TraceId(traceparent) => {
                to.serialize_str(traceparent.as_str().get(3..35).unwrap_or_default())
            }
            Self::Category(it) => it.serialize(to),
            Self::Class(it) => it.serialize(to),
            Self::Stage(it) => it.serialize(to),
            Self::Trigger(it) => it.serialize(to),
        }
    }
}

/// States, each with the time at which it was last entered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entered<'a>(pub &'a [(StateName, Timestamp)]);

impl Serialize for Entered<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(state, at)| (state, at)))
    }
}

/// Conversion of a record or of one of its fields.
trait ToWire<T> {
    fn to_wire(&self) -> T;
}

impl<T: Display> ToWire<String> for T {
    fn to_wire(&self) -> String {
        self.to_string()
    }
}

impl<T: ToWire<U>, U> ToWire<Option<U>> for Option<T> {
    fn to_wire(&self) -> Option<U> {
        self.as_ref().map(T::to_wire)
    }
}

impl<T: ToWire<U>, U> ToWire<Vec<U>> for Vec<T> {
    fn to_wire(&self) -> Vec<U> {
        self.iter().map(T::to_wire).collect()
    }
}

macro_rules! copied {
    ($($Type:ty)+) => {
        $(impl ToWire<$Type> for $Type {
            fn to_wire(&self) -> $Type {
                *self
            }
        })+
    };
}

copied!(bool u16 u32 u64 i32 f64);

/// The text that a value is written as.
fn text(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        other => unreachable!("a name is written as a string, not as {other:?}"),
    }
}
