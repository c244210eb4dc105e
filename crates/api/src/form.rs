//! How the values of an answer are held: a reader owns them, the server borrows them from the engine's records and writes
//! them without copies. One struct declares the fields for both.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Serialize;
use serde_json::Value;

/// The types of an answer's values.
pub trait Form {
    /// The id of a job.
    type Id: Clone + Debug + PartialEq + Serialize;
    /// A text.
    type Text: Clone + Debug + PartialEq + Serialize;
    /// A point in time, RFC 3339 in UTC with milliseconds.
    type Time: Clone + Debug + PartialEq + Serialize;
    /// Any JSON value.
    type Json: Clone + Debug + PartialEq + Serialize;
    /// A JSON object.
    type Object: Clone + Debug + PartialEq + Serialize;
    /// Names, each with a time.
    type Times: Clone + Debug + PartialEq + Serialize;
}

/// What was read: every value is owned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owned;

impl Form for Owned {
    type Id = String;
    type Text = String;
    type Time = String;
    type Json = Value;
    type Object = Value;
    type Times = BTreeMap<String, String>;
}

/// A form that can be read from JSON.
pub trait Read:
    Form<
        Id = String,
        Text = String,
        Time = String,
        Json = Value,
        Object = Value,
        Times = BTreeMap<String, String>,
    > + Default
{
}

impl Read for Owned {}
