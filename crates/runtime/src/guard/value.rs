//! What expressions come to. Payloads are looked at where they lie: a value borrows from the JSON, and only what a
//! guard itself makes (a joined string, a list literal) is owned. Whatever reads or makes bytes pays for them first.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Deref;

use serde_json::Value as Json;

use super::ast::Type;
use super::{GUARD_DEPTH_MAX, GUARD_STEPS_MAX, GuardError};

/// The deepest value there can be: a payload inside as many lists as a guard can nest.
const VALUE_DEPTH_MAX: usize = tenure_core::limits::JSON_DEPTH_MAX + GUARD_DEPTH_MAX;

/// The steps that are left. Once one was refused all are, so that `||` cannot absorb exhaustion.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn full() -> Budget {
        Budget(GUARD_STEPS_MAX)
    }

    pub(super) fn pay(&mut self, steps: usize) -> Result<(), GuardError> {
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or(0);
        left.map(drop).ok_or(GuardError::TooCostly)
    }
}

#[derive(Debug)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Str(Cow<'a, str>),
    List(List<'a>),
    Map(Map<'a>),
    Type(Type),
}

#[derive(Debug)]
pub(super) enum List<'a> {
    Json(&'a [Json]),
    Own(Vec<Value<'a>>),
}

#[derive(Debug)]
pub(super) enum Map<'a> {
    Json(&'a serde_json::Map<String, Json>),
    Own(Vec<(Value<'a>, Value<'a>)>),
}

/// A member of a list or map, looked at.
pub(super) enum Member<'m, 'a> {
    Made(Value<'a>),
    Lent(&'m Value<'a>),
}

impl<'a> Deref for Member<'_, 'a> {
    type Target = Value<'a>;

    fn deref(&self) -> &Value<'a> {
        match self {
            Member::Made(value) => value,
            Member::Lent(value) => value,
        }
    }
}

impl<'a> Value<'a> {
    /// Takes no time and no room, however large the JSON is.
    pub(super) fn from_json(json: &'a Json) -> Value<'a> {
        match json {
            Json::Null => Value::Null,
            Json::Bool(bool) => Value::Bool(*bool),
            Json::Number(number) => match number.as_i64() {
                Some(int) => Value::Int(int),
                None => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Value::Str(Cow::Borrowed(text)),
            Json::Array(members) => Value::List(List::Json(members)),
            Json::Object(entries) => Value::Map(Map::Json(entries)),
        }
    }

    pub(super) fn type_of(&self) -> Type {
        match self {
            Value::Null => Type::Null,
            Value::Bool(_) => Type::Bool,
            Value::Int(_) => Type::Int,
            Value::Double(_) => Type::Double,
            Value::Str(_) => Type::String,
            Value::List(_) => Type::List,
            Value::Map(_) => Type::Map,
            Value::Type(_) => Type::Itself,
        }
    }

    /// The kind in words, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a bool",
            Value::Int(_) => "an int",
            Value::Double(_) => "a double",
            Value::Str(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Type(_) => "a type",
        }
    }
}

impl<'a> List<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            List::Json(members) => members.len(),
            List::Own(members) => members.len(),
        }
    }

    /// Out of the list; the rest of it is dropped.
    pub(super) fn take(self, index: usize) -> Option<Value<'a>> {
        match self {
            List::Json(members) => members.get(index).map(Value::from_json),
            List::Own(members) => members.into_iter().nth(index),
        }
    }

    /// One list after the other.
    pub(super) fn join(self, other: List<'a>, budget: &mut Budget) -> Result<List<'a>, GuardError> {
        budget.pay((self.len() + other.len()).saturating_mul(size_of::<Value<'_>>()))?;
        let mut members = self.into_members();
        members.extend(other.into_members());
        Ok(List::Own(members))
    }

    pub(super) fn holds(&self, sought: &Value<'_>, budget: &mut Budget) -> Result<bool, GuardError> {
        for member in self.members() {
            if equal(&member, sought, budget)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn into_members(self) -> Vec<Value<'a>> {
        match self {
            List::Json(members) => members.iter().map(Value::from_json).collect(),
            List::Own(members) => members,
        }
    }

    fn members(&self) -> impl Iterator<Item = Member<'_, 'a>> {
        (0..self.len()).map(move |index| match self {
            List::Json(members) => Member::Made(Value::from_json(&members[index])),
            List::Own(members) => Member::Lent(&members[index]),
        })
    }
}

impl<'a> Map<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Map::Json(entries) => entries.len(),
            Map::Own(entries) => entries.len(),
        }
    }

    pub(super) fn get(
        &self,
        key: &Value<'_>,
        budget: &mut Budget,
    ) -> Result<Option<Member<'_, 'a>>, GuardError> {
        match (self, key) {
            (Map::Json(entries), Value::Str(text)) => {
                budget.pay(text.len())?;
                Ok(entries.get(text.as_ref()).map(|json| Member::Made(Value::from_json(json))))
            }
            (Map::Json(_), _) => Ok(None),
            (Map::Own(entries), _) => {
                let found = position(entries, key, budget)?;
                Ok(found.map(|index| Member::Lent(&entries[index].1)))
            }
        }
    }

    /// Out of the map; the rest of it is dropped.
    pub(super) fn take(self, key: &Value<'_>, budget: &mut Budget) -> Result<Option<Value<'a>>, GuardError> {
        match self {
            Map::Own(mut entries) => {
                let found = position(&entries, key, budget)?;
                Ok(found.map(|index| entries.swap_remove(index).1))
            }
            Map::Json(entries) => {
                let Value::Str(text) = key else { return Ok(None) };
                budget.pay(text.len())?;
                Ok(entries.get(text.as_ref()).map(Value::from_json))
            }
        }
    }

    /// Adds to a map that a guard makes; the key is not in it.
    pub(super) fn push(&mut self, key: Value<'a>, value: Value<'a>) {
        match self {
            Map::Own(entries) => entries.push((key, value)),
            Map::Json(_) => unreachable!("a payload is never written to"),
        }
    }

    fn entries(&self) -> impl Iterator<Item = (Member<'_, 'a>, Member<'_, 'a>)> {
        let (json, own) = match self {
            Map::Json(entries) => (Some(*entries), None),
            Map::Own(entries) => (None, Some(entries)),
        };
        let json = json.into_iter().flatten().map(|(key, value)| {
            (Member::Made(Value::Str(Cow::Borrowed(key))), Member::Made(Value::from_json(value)))
        });
        json.chain(own.into_iter().flatten().map(|(key, value)| (Member::Lent(key), Member::Lent(value))))
    }
}

/// Whether two values are the same. Values of different kinds differ, except that numbers compare by value.
pub(super) fn equal(left: &Value<'_>, right: &Value<'_>, budget: &mut Budget) -> Result<bool, GuardError> {
    equal_within(VALUE_DEPTH_MAX, left, right, budget)
}

/// How two values are ordered: nothing if they have no order, as NaN has none and a string none with an int.
pub(super) fn order(
    left: &Value<'_>,
    right: &Value<'_>,
    budget: &mut Budget,
) -> Result<Option<Ordering>, GuardError> {
    Ok(match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Double(b)) => order_mixed(*a, *b),
        (Value::Double(a), Value::Int(b)) => order_mixed(*b, *a).map(Ordering::reverse),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Str(a), Value::Str(b)) => {
            budget.pay(a.len().min(b.len()))?;
            Some(a.cmp(b))
        }
        _ => None,
    })
}

/// Bounded by `depth`, because a payload that did not come through the server's door can be of any.
fn equal_within(
    depth: usize,
    left: &Value<'_>,
    right: &Value<'_>,
    budget: &mut Budget,
) -> Result<bool, GuardError> {
    budget.pay(1)?;
    let Some(depth) = depth.checked_sub(1) else { return Err(GuardError::TooDeep) };
    match (left, right) {
        (Value::Null, Value::Null) => Ok(true),
        (Value::Type(a), Value::Type(b)) => Ok(a == b),
        (Value::List(a), Value::List(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (member, twin) in a.members().zip(b.members()) {
                if !equal_within(depth, &member, &twin, budget)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Map(a), Value::Map(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (key, member) in a.entries() {
                let Some(twin) = b.get(&key, budget)? else { return Ok(false) };
                if !equal_within(depth, &member, &twin, budget)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(order(left, right, budget)? == Some(Ordering::Equal)),
    }
}

/// Exact: turning the int into a double would make 2⁵³ and 2⁵³ + 1 equal.
fn order_mixed(int: i64, double: f64) -> Option<Ordering> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if double.is_nan() {
        return None;
    }
    if double >= BEYOND {
        return Some(Ordering::Less);
    }
    if double < -BEYOND {
        return Some(Ordering::Greater);
    }
    let whole = int.cmp(&(double as i64));
    Some(whole.then_with(|| 0.0_f64.partial_cmp(&double.fract()).unwrap_or(Ordering::Equal)))
}

fn position(
    entries: &[(Value<'_>, Value<'_>)],
    key: &Value<'_>,
    budget: &mut Budget,
) -> Result<Option<usize>, GuardError> {
    for (index, (own, _)) in entries.iter().enumerate() {
        if equal(own, key, budget)? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}
