//! Estimates the cost of validation before it runs. To report one error, the library collects all of them, and for
//! `anyOf` and `oneOf` those of every branch. In a recursive schema this happens at every level of the payload: with two
//! branches, 18 levels took 6.6 s to explain and 10 µs to decide.
//!
//! The other cost is stack: the library recurses at every reference, and in a recursive schema the payload determines
//! how often. A stack overflow would end the process, so such payloads are refused beforehand.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{SCHEMA_DEPTH_MAX, SCHEMA_REFS_MAX, SchemaFlaw};

/// Errors that may be collected for one payload: about 20 MB.
const COLLECTED_MAX: u64 = 50_000;
/// Nested calls. 12,000 of them fit in a stack of 2 MiB in a debug build, 24,000 did not.
const CALL_DEPTH_MAX: u64 = 8192;
/// Keywords whose subschemas apply to a part of the payload, or to nothing; all others apply to the same value.
const DESCENDING_KEYWORDS: [&str; 12] = [
    "$defs",
    "definitions",
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
];

/// Measures of a schema that determine what validation costs.
#[derive(Clone, Debug)]
pub(super) struct SchemaCost {
    /// Whether errors include the errors of branches.
    branching: bool,
    refs: u64,
    /// How many subschemas there are with every reference expanded; `None` if the schema is recursive.
    copies: Option<u64>,
    /// How deep calls nest before one descends into the payload.
    call_depth: u64,
}

#[derive(Clone, Copy)]
pub(super) struct PayloadSize {
    nodes: u64,
    depth: u32,
}

impl SchemaCost {
    pub(super) fn of(schema: &Json) -> Result<Self, SchemaFlaw> {
        let mut survey = SchemaSurvey::default();
        survey.visit(schema, &mut String::from("#"), 0)?;
        Ok(Self {
            branching: survey.branching,
            refs: survey.refs.len() as u64,
            copies: survey.copies(),
            call_depth: survey.call_depth(),
        })
    }

    /// Whether this payload can be validated without overflowing the stack.
    pub(super) fn allows(&self, payload: PayloadSize) -> bool {
        self.call_depth.saturating_mul(u64::from(payload.depth) + 1) <= CALL_DEPTH_MAX
    }

    /// Whether every error of this payload may be collected.
    pub(super) fn allows_all_errors(&self, payload: PayloadSize) -> bool {
        // The work multiplies only where there are two references.
        let walks = self.copies.unwrap_or_else(|| self.refs.saturating_pow(payload.depth));
        payload.nodes.saturating_mul(walks) <= COLLECTED_MAX
    }

    /// Whether the first error can be found without collecting others.
    pub(super) fn allows_first_error(&self) -> bool {
        !self.branching
    }
}

impl PayloadSize {
    /// Without recursion, because the payload may be arbitrarily deep.
    pub(super) fn of(payload: &Json) -> Self {
        let mut size = Self { nodes: 0, depth: 0 };
        let mut open = vec![(payload, 0)];
        while let Some((json, depth)) = open.pop() {
            size.nodes += 1;
            size.depth = size.depth.max(depth);
            match json {
                Json::Array(members) => open.extend(members.iter().map(|member| (member, depth + 1))),
                Json::Object(entries) => open.extend(entries.values().map(|member| (member, depth + 1))),
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
            }
        }
        size
    }
}

/// A walk through a schema that collects its references.
#[derive(Default)]
struct SchemaSurvey {
    branching: bool,
    refs: Vec<SchemaReference>,
    /// Whether a reference might lead anywhere: it names an anchor, or a subschema has its own `$id`.
    unresolvable: bool,
}

struct SchemaReference {
    at: String,
    target: String,
}

impl SchemaSurvey {
    fn visit(&mut self, schema: &Json, pointer: &mut String, depth: usize) -> Result<(), SchemaFlaw> {
        if depth > SCHEMA_DEPTH_MAX {
            let message = format!("a schema nests at most {SCHEMA_DEPTH_MAX} deep");
            return Err(SchemaFlaw { message, pointer: pointer.clone() });
        }
        let length = pointer.len();
        match schema {
            Json::Array(members) => {
                for (index, member) in members.iter().enumerate() {
                    pointer.push('/');
                    pointer.push_str(&index.to_string());
                    self.visit(member, pointer, depth + 1)?;
                    pointer.truncate(length);
                }
            }
            Json::Object(entries) => {
                for (key, member) in entries {
                    self.note(key, member, pointer)?;
                    pointer.push('/');
                    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    self.visit(member, pointer, depth + 1)?;
                    pointer.truncate(length);
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
        Ok(())
    }

    fn note(&mut self, key: &str, member: &Json, pointer: &str) -> Result<(), SchemaFlaw> {
        match (key, member) {
            ("anyOf" | "oneOf", Json::Array(_)) => self.branching = true,
            ("$id" | "id", Json::String(_)) => self.unresolvable |= pointer != "#",
            ("$ref" | "$dynamicRef" | "$recursiveRef", Json::String(target)) => {
                if self.refs.len() == SCHEMA_REFS_MAX {
                    let message = format!("a schema has at most {SCHEMA_REFS_MAX} references");
                    return Err(SchemaFlaw { message, pointer: format!("{pointer}/{key}") });
                }
                let plain = target == "#" || target.starts_with("#/") && !target.contains('%');
                self.unresolvable |= !plain || key != "$ref";
                self.refs.push(SchemaReference { at: pointer.to_owned(), target: target.clone() });
            }
            _ => {}
        }
        Ok(())
    }

    fn copies(&self) -> Option<u64> {
        if self.unresolvable { None } else { self.resolve(Self::copies_in) }
    }

    fn call_depth(&self) -> u64 {
        let known = if self.unresolvable { None } else { self.resolve(Self::call_depth_in) };
        known.unwrap_or_else(|| self.refs.iter().map(|reference| steps(&reference.at) + 1).sum())
    }

    /// Counts for the whole schema, starting with the targets of references; `None` if they form a cycle.
    fn resolve(&self, count: fn(&Self, &str, &KnownCounts<'_>) -> Option<u64>) -> Option<u64> {
        let mut counted = KnownCounts::new();
        let mut waiting: Vec<&str> = self.refs.iter().map(|reference| reference.target.as_str()).collect();
        waiting.push("#");
        waiting.sort_unstable();
        waiting.dedup();
        while !waiting.is_empty() {
            let before = waiting.len();
            waiting.retain(|target| match count(self, target, &counted) {
                Some(number) => counted.insert(target, number).is_some(),
                None => true,
            });
            if waiting.len() == before {
                return None;
            }
        }
        counted.get("#").copied()
    }

    /// One, plus the copies of the references inside.
    fn copies_in(&self, place: &str, counted: &KnownCounts<'_>) -> Option<u64> {
        let mut copies: u64 = 1;
        for (_, target) in self.refs_in(place) {
            copies = copies.saturating_add(*counted.get(target)?);
        }
        Some(copies)
    }

    /// The longest chain of references that stays at one value of the payload.
    fn call_depth_in(&self, place: &str, counted: &KnownCounts<'_>) -> Option<u64> {
        let mut longest = 0;
        for (path, target) in self.refs_in(place) {
            if !path.split('/').any(|segment| DESCENDING_KEYWORDS.contains(&segment)) {
                longest = longest.max(steps(path) + 1 + counted.get(target)?);
            }
        }
        Some(longest)
    }

    /// The references inside a place: their relative path and target.
    fn refs_in(&self, place: &str) -> impl Iterator<Item = (&str, &str)> {
        self.refs.iter().filter_map(move |reference| {
            let path = reference.at.strip_prefix(place)?;
            (path.is_empty() || path.starts_with('/')).then_some((path, reference.target.as_str()))
        })
    }
}

type KnownCounts<'s> = BTreeMap<&'s str, u64>;

fn steps(path: &str) -> u64 {
    path.matches('/').count() as u64
}
