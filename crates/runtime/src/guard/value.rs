//! Values of guard expressions. A value borrows from the payload's JSON; only what the guard itself creates (a joined
//! string, a list literal) is owned. Code that reads or creates bytes first takes their cost from the budget.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value as Json;

use super::ast::ValueType;
use super::{GUARD_DEPTH_MAX, GUARD_STEPS_MAX, GuardError, Result};

/// The deepest possible value: a payload inside as many lists as a guard can nest.
const VALUE_DEPTH_MAX: usize = tenure_core::limits::JSON_DEPTH_MAX + GUARD_DEPTH_MAX;

/// The remaining steps. Once exhausted it stays exhausted, so `||` cannot absorb the error.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn full() -> Budget {
        Budget(GUARD_STEPS_MAX)
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<()> {
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or(0);
        left.map(drop).ok_or(GuardError::TooCostly)
    }
}

#[derive(Clone, Debug)]
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

#[derive(Clone, Debug)]
pub(super) enum ListValue<'a> {
    Json(&'a [Json]),
    Literal(Vec<GuardValue<'a>>),
}

type JsonObject = serde_json::Map<String, Json>;
/// A key and its value.
type Entry<'a> = (GuardValue<'a>, GuardValue<'a>);

#[derive(Clone, Debug)]
pub(super) enum MapValue<'a> {
    Json(&'a JsonObject),
    Literal(Vec<Entry<'a>>),
}

/// An element of a list or map: converted from JSON, or borrowed from a literal.
pub(super) type ElementRef<'m, 'a> = Cow<'m, GuardValue<'a>>;

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
        self.value_type().0
    }

    /// The type in words, for messages.
    pub(super) fn type_name(&self) -> &'static str {
        self.value_type().1
    }

    fn value_type(&self) -> (ValueType, &'static str) {
        match self {
            GuardValue::Null => (ValueType::Null, "null"),
            GuardValue::Bool(_) => (ValueType::Bool, "a bool"),
            GuardValue::Int(_) => (ValueType::Int, "an int"),
            GuardValue::Double(_) => (ValueType::Double, "a double"),
            GuardValue::Str(_) => (ValueType::String, "a string"),
            GuardValue::List(_) => (ValueType::List, "a list"),
            GuardValue::Map(_) => (ValueType::Map, "a map"),
            GuardValue::Type(_) => (ValueType::Type, "a type"),
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

    pub(super) fn concat(self, other: Self, budget: &mut Budget) -> Result<Self> {
        budget.spend((self.len() + other.len()).saturating_mul(size_of::<GuardValue<'_>>()))?;
        let mut elements = self.into_elements();
        elements.extend(other.into_elements());
        Ok(ListValue::Literal(elements))
    }

    pub(super) fn contains(&self, sought: &GuardValue<'_>, budget: &mut Budget) -> Result<bool> {
        for element in self.elements() {
            if budget.equal(&element, sought)? {
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
            ListValue::Json(elements) => Cow::Owned(GuardValue::from_json(&elements[index])),
            ListValue::Literal(elements) => Cow::Borrowed(&elements[index]),
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
    ) -> Result<Option<ElementRef<'_, 'a>>> {
        Ok(match self {
            MapValue::Json(object) => budget.field(object, key)?.map(Cow::Owned),
            MapValue::Literal(entries) => {
                budget.position(entries, key)?.map(|index| Cow::Borrowed(&entries[index].1))
            }
        })
    }

    /// Moves a value out of the map and drops the rest.
    pub(super) fn take(self, key: &GuardValue<'_>, budget: &mut Budget) -> Result<Option<GuardValue<'a>>> {
        match self {
            MapValue::Json(object) => budget.field(object, key),
            MapValue::Literal(mut entries) => {
                let found = budget.position(&entries, key)?;
                Ok(found.map(|index| entries.swap_remove(index).1))
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

    fn entries(&self) -> Box<dyn Iterator<Item = (ElementRef<'_, 'a>, ElementRef<'_, 'a>)> + '_> {
        match self {
            MapValue::Json(entries) => Box::new(entries.iter().map(|(key, value)| {
                let key = GuardValue::Str(Cow::Borrowed(key.as_str()));
                (Cow::Owned(key), Cow::Owned(GuardValue::from_json(value)))
            })),
            MapValue::Literal(entries) => {
                Box::new(entries.iter().map(|(key, value)| (Cow::Borrowed(key), Cow::Borrowed(value))))
            }
        }
    }
}

impl Budget {
    /// Equality. Values of different types differ, except that numbers compare by value.
    pub(super) fn equal(&mut self, left: &GuardValue<'_>, right: &GuardValue<'_>) -> Result<bool> {
        self.equal_within(VALUE_DEPTH_MAX, left, right)
    }

    /// The order of two values: `None` if there is none, as with NaN, or with a string and an int.
    pub(super) fn order(
        &mut self,
        left: &GuardValue<'_>,
        right: &GuardValue<'_>,
    ) -> Result<Option<Ordering>> {
        Ok(match (left, right) {
            (GuardValue::Int(a), GuardValue::Int(b)) => Some(a.cmp(b)),
            (GuardValue::Double(a), GuardValue::Double(b)) => a.partial_cmp(b),
            (GuardValue::Int(a), GuardValue::Double(b)) => order_mixed(*a, *b),
            (GuardValue::Double(a), GuardValue::Int(b)) => order_mixed(*b, *a).map(Ordering::reverse),
            (GuardValue::Bool(a), GuardValue::Bool(b)) => Some(a.cmp(b)),
            (GuardValue::Str(a), GuardValue::Str(b)) => {
                self.spend(a.len().min(b.len()))?;
                Some(a.cmp(b))
            }
            _ => None,
        })
    }

    /// Limited to `depth`, because a payload that was not submitted through the API can be arbitrarily deep.
    fn equal_within(&mut self, depth: usize, left: &GuardValue<'_>, right: &GuardValue<'_>) -> Result<bool> {
        self.spend(1)?;
        let Some(depth) = depth.checked_sub(1) else { return Err(GuardError::TooDeep) };
        match (left, right) {
            (GuardValue::Null, GuardValue::Null) => Ok(true),
            (GuardValue::Type(a), GuardValue::Type(b)) => Ok(a == b),
            (GuardValue::List(a), GuardValue::List(b)) if a.len() == b.len() => {
                for (left, right) in a.elements().zip(b.elements()) {
                    if !self.equal_within(depth, &left, &right)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (GuardValue::Map(a), GuardValue::Map(b)) if a.len() == b.len() => {
                for (key, left) in a.entries() {
                    let Some(right) = b.get(&key, self)? else { return Ok(false) };
                    if !self.equal_within(depth, &left, &right)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(self.order(left, right)? == Some(Ordering::Equal)),
        }
    }

    /// The entry with this key.
    fn position(&mut self, entries: &[Entry<'_>], key: &GuardValue<'_>) -> Result<Option<usize>> {
        for (index, (known, _)) in entries.iter().enumerate() {
            if self.equal(known, key)? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// A field of a JSON object; its keys are strings only.
    fn field<'a>(&mut self, object: &'a JsonObject, key: &GuardValue<'_>) -> Result<Option<GuardValue<'a>>> {
        let GuardValue::Str(text) = key else { return Ok(None) };
        self.spend(text.len())?;
        Ok(object.get(text.as_ref()).map(GuardValue::from_json))
    }
}

/// 2⁶³, the first double above every int.
pub(super) const BEYOND_INTS: f64 = 9_223_372_036_854_775_808.0;

/// Exact: converting the int to a double would make 2⁵³ and 2⁵³ + 1 equal.
fn order_mixed(int: i64, double: f64) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    if double >= BEYOND_INTS {
        return Some(Ordering::Less);
    }
    if double < -BEYOND_INTS {
        return Some(Ordering::Greater);
    }
    let whole = int.cmp(&(double as i64));
    Some(whole.then_with(|| 0.0_f64.partial_cmp(&double.fract()).unwrap_or(Ordering::Equal)))
}
