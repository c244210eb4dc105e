//! What explaining a refusal may cost, estimated beforehand: the library collects every error before it gives the
//! first, and with an error of `anyOf` or `oneOf` those of every branch. A schema that contains itself does so on every
//! level of the payload: with two branches, 18 levels took it 6.6 s, where deciding took 10 µs.
//!
//! The other cost is stack: the library recurses at every reference, and in a schema that contains itself the payload
//! says how often. A process that overflows its stack is gone, so this is refused beforehand.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{SCHEMA_DEPTH_MAX, SCHEMA_REFS_MAX, SchemaFlaw};

/// Errors that may be collected for one payload: about 20 MB for a moment.
const COLLECTED_MAX: u64 = 50_000;
/// Calls on top of each other. 12,000 of them fitted in a stack of 2 MiB in a debug build, 24,000 did not.
const STACKED_MAX: u64 = 8192;
/// What leads to a part of the payload, or to nothing; all else stays at the same value.
const DESCENTS: [&str; 12] = [
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

/// What was learnt from a schema when it was loaded.
#[derive(Clone, Debug)]
pub(super) struct Cost {
    /// Whether errors carry the errors of branches with them.
    branching: bool,
    refs: u64,
    /// How often the schema is walked through if every reference is written out; nothing if it contains itself.
    copies: Option<u64>,
    /// How many calls lie on top of each other before one goes down into the payload.
    stacked: u64,
}

/// How large a payload is.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    nodes: u64,
    depth: u32,
}

impl Cost {
    pub(super) fn of(schema: &Json) -> Result<Cost, SchemaFlaw> {
        let mut survey = Survey::default();
        survey.visit(schema, &mut String::from("#"), 0)?;
        Ok(Cost {
            branching: survey.branching,
            refs: survey.refs.len() as u64,
            copies: survey.copies(),
            stacked: survey.stacked(),
        })
    }

    /// Whether this payload can be looked at at all.
    pub(super) fn allows(&self, payload: Extent) -> bool {
        self.stacked.saturating_mul(u64::from(payload.depth) + 1) <= STACKED_MAX
    }

    /// Whether every error of this payload may be collected.
    pub(super) fn allows_all(&self, payload: Extent) -> bool {
        // A walk divides only where two references lead on.
        let walks = self.copies.unwrap_or_else(|| self.refs.saturating_pow(payload.depth));
        payload.nodes.saturating_mul(walks) <= COLLECTED_MAX
    }

    /// Whether the first error costs nothing but itself.
    pub(super) fn allows_first(&self) -> bool {
        !self.branching
    }
}

impl Extent {
    /// Without recursion: the payload may be of any depth.
    pub(super) fn of(payload: &Json) -> Extent {
        let mut extent = Extent { nodes: 0, depth: 0 };
        let mut open = vec![(payload, 0)];
        while let Some((json, depth)) = open.pop() {
            extent.nodes += 1;
            extent.depth = extent.depth.max(depth);
            match json {
                Json::Array(members) => open.extend(members.iter().map(|member| (member, depth + 1))),
                Json::Object(entries) => open.extend(entries.values().map(|member| (member, depth + 1))),
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
            }
        }
        extent
    }
}

#[derive(Default)]
struct Survey {
    branching: bool,
    refs: Vec<Reference>,
    /// Some reference might lead anywhere: it names an anchor, or the schema has schemas with names of their own.
    vague: bool,
}

struct Reference {
    at: String,
    target: String,
}

impl Survey {
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
            ("$id" | "id", Json::String(_)) => self.vague |= pointer != "#",
            ("$ref" | "$dynamicRef" | "$recursiveRef", Json::String(target)) => {
                if self.refs.len() == SCHEMA_REFS_MAX {
                    let message = format!("a schema has at most {SCHEMA_REFS_MAX} references");
                    return Err(SchemaFlaw { message, pointer: format!("{pointer}/{key}") });
                }
                let plain = target == "#" || target.starts_with("#/") && !target.contains('%');
                self.vague |= !plain || key != "$ref";
                self.refs.push(Reference { at: pointer.to_owned(), target: target.clone() });
            }
            _ => {}
        }
        Ok(())
    }

    fn copies(&self) -> Option<u64> {
        if self.vague { None } else { self.settle(Self::copies_in) }
    }

    fn stacked(&self) -> u64 {
        let settled = if self.vague { None } else { self.settle(Self::stacked_in) };
        settled.unwrap_or_else(|| self.refs.iter().map(|reference| steps(&reference.at) + 1).sum())
    }

    /// Counts the whole by counting what references name first; nothing if they lead in a circle.
    fn settle(&self, count: fn(&Self, &str, &Counted<'_>) -> Option<u64>) -> Option<u64> {
        let mut counted = Counted::new();
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

    /// One, and those of the references inside.
    fn copies_in(&self, place: &str, counted: &Counted<'_>) -> Option<u64> {
        let mut copies: u64 = 1;
        for (_, target) in self.refs_in(place) {
            copies = copies.saturating_add(*counted.get(target)?);
        }
        Some(copies)
    }

    /// The longest way from reference to reference that stays at one value.
    fn stacked_in(&self, place: &str, counted: &Counted<'_>) -> Option<u64> {
        let mut longest = 0;
        for (path, target) in self.refs_in(place) {
            if !path.split('/').any(|segment| DESCENTS.contains(&segment)) {
                longest = longest.max(steps(path) + 1 + counted.get(target)?);
            }
        }
        Some(longest)
    }

    /// The references inside a place: the path from there, and the target.
    fn refs_in(&self, place: &str) -> impl Iterator<Item = (&str, &str)> {
        self.refs.iter().filter_map(move |reference| {
            let path = reference.at.strip_prefix(place)?;
            (path.is_empty() || path.starts_with('/')).then_some((path, reference.target.as_str()))
        })
    }
}

type Counted<'s> = BTreeMap<&'s str, u64>;

fn steps(path: &str) -> u64 {
    path.matches('/').count() as u64
}
