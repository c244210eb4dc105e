//! Values of guard expressions. A value borrows from the payload's JSON; only what the guard itself creates (a joined
//! string, a list literal) is owned. Code that reads or creates bytes first takes their cost from the budget.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Deref;

use serde_json::Value as Json;

use super::ast::ValueType;
use super::{GUARD_DEPTH_MAX, GUARD_STEPS_MAX, GuardError};

/// The deepest possible value: a payload inside as many lists as a guard can nest.
const VALUE_DEPTH_MAX: usize = tenure_core::limits::JSON_DEPTH_MAX + GUARD_DEPTH_MAX;

/// The remaining steps. Once exhausted it stays exhausted, so `||` cannot absorb the error.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn full() -> Budget {
        Budget(GUARD_STEPS_MAX)
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), GuardError> {
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
    Literal(Vec<GuardValue<'a>>),
}

#[derive(Debug)]
pub(super) enum MapValue<'a> {
    Json(&'a serde_json::Map<String, Json>),
    Literal(Vec<(GuardValue<'a>, GuardValue<'a>)>),
}

/// An element of a list or map: converted from JSON, or borrowed from a literal.
pub(super) enum ElementRef<'m, 'a> {
    Owned(GuardValue<'a>),
    Borrowed(&'m GuardValue<'a>),
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
    /// Constant time and space, independent of the size of the JSON.
    pub(super) fn from_json(json: &'a Json) -> GuardValue<'a> {
        match json {
            Json::Null => GuardValue::Null,
            Json::Bool(bool) => GuardValue::Bool(*bool),
            Json::Number(number) => match number.as_i64() {
                Some(int) => GuardValue::Int(int),
                None => GuardValue::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => GuardValue::Str(Cow::Borrowed(text)),
            Json::Array(elements) => GuardValue::List(ListValue::Json(elements)),
            Json::Object(entries) => GuardValue::Map(MapValue::Json(entries)),
        }
    }

    pub(super) fn type_of(&self) -> ValueType {
        match self {
            GuardValue::Null => ValueType::Null,
            GuardValue::Bool(_) => ValueType::Bool,
            GuardValue::Int(_) => ValueType::Int,
            GuardValue::Double(_) => ValueType::Double,
            GuardValue::Str(_) => ValueType::String,
            GuardValue::List(_) => ValueType::List,
            GuardValue::Map(_) => ValueType::Map,
            GuardValue::Type(_) => ValueType::Type,
        }
    }

    /// The type in words, for messages.
    pub(super) fn type_name(&self) -> &'static str {
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
            ListValue::Json(elements) => elements.len(),
            ListValue::Literal(elements) => elements.len(),
        }
    }

    /// Moves an element out of the list and drops the rest.
    pub(super) fn take(self, index: usize) -> Option<GuardValue<'a>> {
        match self {
            ListValue::Json(elements) => elements.get(index).map(GuardValue::from_json),
            ListValue::Literal(elements) => elements.into_iter().nth(index),
        }
    }

    pub(super) fn concat(
        self,
        other: ListValue<'a>,
        budget: &mut Budget,
    ) -> Result<ListValue<'a>, GuardError> {
        budget.spend((self.len() + other.len()).saturating_mul(size_of::<GuardValue<'_>>()))?;
        let mut elements = self.into_elements();
        elements.extend(other.into_elements());
        Ok(ListValue::Literal(elements))
    }

    pub(super) fn contains(&self, sought: &GuardValue<'_>, budget: &mut Budget) -> Result<bool, GuardError> {
        for element in self.elements() {
            if equal(&element, sought, budget)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn into_elements(self) -> Vec<GuardValue<'a>> {
        match self {
            ListValue::Json(elements) => elements.iter().map(GuardValue::from_json).collect(),
            ListValue::Literal(elements) => elements,
        }
    }

    fn elements(&self) -> impl Iterator<Item = ElementRef<'_, 'a>> {
        (0..self.len()).map(move |index| match self {
            ListValue::Json(elements) => ElementRef::Owned(GuardValue::from_json(&elements[index])),
            ListValue::Literal(elements) => ElementRef::Borrowed(&elements[index]),
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
                budget.spend(text.len())?;
                Ok(entries.get(text.as_ref()).map(|json| ElementRef::Owned(GuardValue::from_json(json))))
            }
            (MapValue::Json(_), _) => Ok(None),
            (MapValue::Literal(entries), _) => {
                let found = position(entries, key, budget)?;
                Ok(found.map(|index| ElementRef::Borrowed(&entries[index].1)))
            }
        }
    }

    /// Moves a value out of the map and drops the rest.
    pub(super) fn take(
        self,
        key: &GuardValue<'_>,
        budget: &mut Budget,
    ) -> Result<Option<GuardValue<'a>>, GuardError> {
        match self {
            MapValue::Literal(mut entries) => {
                let found = position(&entries, key, budget)?;
                Ok(found.map(|index| entries.swap_remove(index).1))
            }
            MapValue::Json(entries) => {
                let GuardValue::Str(text) = key else { return Ok(None) };
                budget.spend(text.len())?;
                Ok(entries.get(text.as_ref()).map(GuardValue::from_json))
            }
        }
    }

    /// Adds an entry to a map literal; the key is not in it yet.
    pub(super) fn push(&mut self, key: GuardValue<'a>, value: GuardValue<'a>) {
        match self {
            MapValue::Literal(entries) => entries.push((key, value)),
            MapValue::Json(_) => unreachable!("a payload is read-only"),
        }
    }

    fn entries(&self) -> impl Iterator<Item = (ElementRef<'_, 'a>, ElementRef<'_, 'a>)> {
        let (json, own) = match self {
            MapValue::Json(entries) => (Some(*entries), None),
            MapValue::Literal(entries) => (None, Some(entries)),
        };
        let json = json.into_iter().flatten().map(|(key, value)| {
            (
                ElementRef::Owned(GuardValue::Str(Cow::Borrowed(key))),
                ElementRef::Owned(GuardValue::from_json(value)),
            )
        });
        json.chain(
            own.into_iter()
                .flatten()
                .map(|(key, value)| (ElementRef::Borrowed(key), ElementRef::Borrowed(value))),
        )
    }
}

/// Equality. Values of different types differ, except that numbers compare by value.
pub(super) fn equal(
    left: &GuardValue<'_>,
    right: &GuardValue<'_>,
    budget: &mut Budget,
) -> Result<bool, GuardError> {
    equal_within(VALUE_DEPTH_MAX, left, right, budget)
}

/// The order of two values: `None` if there is none, as with NaN, or with a string and an int.
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
            budget.spend(a.len().min(b.len()))?;
            Some(a.cmp(b))
        }
        _ => None,
    })
}

/// Limited to `depth`, because a payload that was not submitted through the API can be arbitrarily deep.
fn equal_within(
    depth: usize,
    left: &GuardValue<'_>,
    right: &GuardValue<'_>,
    budget: &mut Budget,
) -> Result<bool, GuardError> {
    budget.spend(1)?;
    let Some(depth) = depth.checked_sub(1) else { return Err(GuardError::TooDeep) };
    match (left, right) {
        (GuardValue::Null, GuardValue::Null) => Ok(true),
        (GuardValue::Type(a), GuardValue::Type(b)) => Ok(a == b),
        (GuardValue::List(a), GuardValue::List(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (left, right) in a.elements().zip(b.elements()) {
                if !equal_within(depth, &left, &right, budget)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (GuardValue::Map(a), GuardValue::Map(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (key, left) in a.entries() {
                let Some(right) = b.get(&key, budget)? else { return Ok(false) };
                if !equal_within(depth, &left, &right, budget)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(order(left, right, budget)? == Some(Ordering::Equal)),
    }
}

/// Exact: converting the int to a double would make 2⁵³ and 2⁵³ + 1 equal.
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
    for (index, (known, _)) in entries.iter().enumerate() {
        if equal(known, key, budget)? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}
