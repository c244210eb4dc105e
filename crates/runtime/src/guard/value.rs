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
pub(super) enum GuardValue<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Str(Cow<'a, str>),
    List(ListValue<'a>),
    Map(MapValue<'a>),
    Type(ValueType),
}

#[derive(Debug)]
pub(super) enum ListValue<'a> {
    Json(&'a [Json]),
    Own(Vec<GuardValue<'a>>),
}

#[derive(Debug)]
pub(super) enum MapValue<'a> {
    Json(&'a serde_json::Map<String, Json>),
    Own(Vec<(GuardValue<'a>, GuardValue<'a>)>),
}

/// A member of a list or map, looked at.
pub(super) enum ElementRef<'m, 'a> {
    Made(GuardValue<'a>),
    Lent(&'m GuardValue<'a>),
}

impl<'a> Deref for ElementRef<'_, 'a> {
    type Target = GuardValue<'a>;

    fn deref(&self) -> &GuardValue<'a> {
        match self {
            ElementRef::Owned(value) => value,
            ElementRef::Borrowed(value) => value,
        }
    }
}

impl<'a> GuardValue<'a> {
    /// Takes no time and no room, however large the JSON is.
    pub(super) fn from_json(json: &'a Json) -> GuardValue<'a> {
        match json {
            Json::Null => GuardValue::Null,
            Json::Bool(bool) => GuardValue::Bool(*bool),
            Json::Number(number) => match number.as_i64() {
                Some(int) => GuardValue::Int(int),
                None => GuardValue::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => GuardValue::Str(Cow::Borrowed(text)),
            Json::Array(members) => GuardValue::List(ListValue::Json(members)),
            Json::Object(entries) => GuardValue::Map(MapValue::Json(entries)),
        }
    }

    pub(super) fn type_of(&self) -> Type {
        match self {
            GuardValue::Null => ValueType::Null,
            GuardValue::Bool(_) => ValueType::Bool,
            GuardValue::Int(_) => ValueType::Int,
            GuardValue::Double(_) => ValueType::Double,
            GuardValue::Str(_) => ValueType::String,
            GuardValue::List(_) => ValueType::ListValue,
            GuardValue::Map(_) => ValueType::MapValue,
            GuardValue::Type(_) => ValueType::Type,
        }
    }

    /// The kind in words, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            GuardValue::Null => "null",
            GuardValue::Bool(_) => "a bool",
            GuardValue::Int(_) => "an int",
            GuardValue::Double(_) => "a double",
            GuardValue::Str(_) => "a string",
            GuardValue::List(_) => "a list",
            GuardValue::Map(_) => "a map",
            GuardValue::Type(_) => "a type",
        }
    }
}

impl<'a> ListValue<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            ListValue::Json(members) => members.len(),
            ListValue::Literal(members) => members.len(),
        }
    }

    /// Out of the list; the rest of it is dropped.
    pub(super) fn take(self, index: usize) -> Option<GuardValue<'a>> {
        match self {
            ListValue::Json(members) => members.get(index).map(GuardValue::from_json),
            ListValue::Literal(members) => members.into_iter().nth(index),
        }
    }

    /// One list after the other.
    pub(super) fn join(self, other: ListValue<'a>, budget: &mut Budget) -> Result<ListValue<'a>, GuardError> {
        budget.pay((self.len() + other.len()).saturating_mul(size_of::<GuardValue<'_>>()))?;
        let mut members = self.into_members();
        members.extend(other.into_members());
        Ok(ListValue::Literal(members))
    }

    pub(super) fn holds(&self, sought: &GuardValue<'_>, budget: &mut Budget) -> Result<bool, GuardError> {
        for member in self.members() {
            if equal(&member, sought, budget)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn into_members(self) -> Vec<GuardValue<'a>> {
        match self {
            ListValue::Json(members) => members.iter().map(GuardValue::from_json).collect(),
            ListValue::Literal(members) => members,
        }
    }

    fn members(&self) -> impl Iterator<Item = ElementRef<'_, 'a>> {
        (0..self.len()).map(move |index| match self {
            ListValue::Json(members) => ElementRef::Owned(GuardValue::from_json(&members[index])),
            ListValue::Literal(members) => ElementRef::Borrowed(&members[index]),
        })
    }
}

impl<'a> MapValue<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            MapValue::Json(entries) => entries.len(),
            MapValue::Literal(entries) => entries.len(),
        }
    }

    pub(super) fn get(
        &self,
        key: &GuardValue<'_>,
        budget: &mut Budget,
    ) -> Result<Option<ElementRef<'_, 'a>>, GuardError> {
        match (self, key) {
            (MapValue::Json(entries), GuardValue::Str(text)) => {
                budget.pay(text.len())?;
                Ok(entries.get(text.as_ref()).map(|json| ElementRef::Owned(GuardValue::from_json(json))))
            }
            (MapValue::Json(_), _) => Ok(None),
            (MapValue::Literal(entries), _) => {
                let found = position(entries, key, budget)?;
                Ok(found.map(|index| ElementRef::Borrowed(&entries[index].1)))
            }
        }
    }

    /// Out of the map; the rest of it is dropped.
    pub(super) fn take(self, key: &GuardValue<'_>, budget: &mut Budget) -> Result<Option<GuardValue<'a>>, GuardError> {
        match self {
            MapValue::Literal(mut entries) => {
                let found = position(&entries, key, budget)?;
                Ok(found.map(|index| entries.swap_remove(index).1))
            }
            MapValue::Json(entries) => {
                let GuardValue::Str(text) = key else { return Ok(None) };
                budget.pay(text.len())?;
                Ok(entries.get(text.as_ref()).map(GuardValue::from_json))
            }
        }
    }

    /// Adds to a map that a guard makes; the key is not in it.
    pub(super) fn push(&mut self, key: GuardValue<'a>, value: GuardValue<'a>) {
        match self {
            MapValue::Literal(entries) => entries.push((key, value)),
            MapValue::Json(_) => unreachable!("a payload is never written to"),
        }
    }

    fn entries(&self) -> impl Iterator<Item = (ElementRef<'_, 'a>, ElementRef<'_, 'a>)> {
        let (json, own) = match self {
            MapValue::Json(entries) => (Some(*entries), None),
            MapValue::Literal(entries) => (None, Some(entries)),
        };
        let json = json.into_iter().flatten().map(|(key, value)| {
            (ElementRef::Owned(GuardValue::Str(Cow::Borrowed(key))), ElementRef::Owned(GuardValue::from_json(value)))
        });
        json.chain(own.into_iter().flatten().map(|(key, value)| (ElementRef::Borrowed(key), ElementRef::Borrowed(value))))
    }
}

/// Whether two values are the same. Values of different kinds differ, except that numbers compare by value.
pub(super) fn equal(left: &GuardValue<'_>, right: &GuardValue<'_>, budget: &mut Budget) -> Result<bool, GuardError> {
    equal_within(VALUE_DEPTH_MAX, left, right, budget)
}

/// How two values are ordered: nothing if they have no order, as NaN has none and a string none with an int.
pub(super) fn order(
    left: &GuardValue<'_>,
    right: &GuardValue<'_>,
    budget: &mut Budget,
) -> Result<Option<Ordering>, GuardError> {
    Ok(match (left, right) {
        (GuardValue::Int(a), GuardValue::Int(b)) => Some(a.cmp(b)),
        (GuardValue::Double(a), GuardValue::Double(b)) => a.partial_cmp(b),
        (GuardValue::Int(a), GuardValue::Double(b)) => order_mixed(*a, *b),
        (GuardValue::Double(a), GuardValue::Int(b)) => order_mixed(*b, *a).map(Ordering::reverse),
        (GuardValue::Bool(a), GuardValue::Bool(b)) => Some(a.cmp(b)),
        (GuardValue::Str(a), GuardValue::Str(b)) => {
            budget.pay(a.len().min(b.len()))?;
            Some(a.cmp(b))
        }
        _ => None,
    })
}

/// Bounded by `depth`, because a payload that did not come through the server's door can be of any.
fn equal_within(
    depth: usize,
    left: &GuardValue<'_>,
    right: &GuardValue<'_>,
    budget: &mut Budget,
) -> Result<bool, GuardError> {
    budget.pay(1)?;
    let Some(depth) = depth.checked_sub(1) else { return Err(GuardError::TooDeep) };
    match (left, right) {
        (GuardValue::Null, GuardValue::Null) => Ok(true),
        (GuardValue::Type(a), GuardValue::Type(b)) => Ok(a == b),
        (GuardValue::List(a), GuardValue::List(b)) => {
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
        (GuardValue::Map(a), GuardValue::Map(b)) => {
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
    entries: &[(GuardValue<'_>, GuardValue<'_>)],
    key: &GuardValue<'_>,
    budget: &mut Budget,
) -> Result<Option<usize>, GuardError> {
    for (index, (own, _)) in entries.iter().enumerate() {
        if equal(own, key, budget)? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}
