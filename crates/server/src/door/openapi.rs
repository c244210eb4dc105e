//! The description of the doors, made of the canonical one: its paths below each mount, its schemas in each door's words.

use std::mem::take;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::ask::Route;
use super::{CANONICAL, Door};
use crate::http::pages::OPENAPI;

/// Schemas with fields of a job that are answered.
const ANSWERED: &[&str] = &["Job", "JobAnswer", "JobBrief", "Explanation", "HeartbeatAnswer"];
/// Schemas with fields of a job that are sent.
const SENT: &[&str] = &[
    "NewJob",
    "JobFilter",
    "StartBody",
    "HeartbeatBody",
    "ProgressBody",
    "SucceedBody",
    "PartialBody",
    "FailBody",
    "RejectBody",
    "ReleaseBody",
    "CancelConfirmBody",
];
/// Schemas that have one of the others within.
const AROUND: &[&str] = &["JobResult", "NamedJobResult"];

/// The whole description, with these doors.
pub(super) fn describe(doors: &[Arc<Door>]) -> String {
    let canonical: Value = serde_json::from_str(OPENAPI).expect("our description is JSON");
    let mut whole = canonical.clone();
    for door in doors {
        describe_door(door, &canonical, &mut whole);
    }
    whole.to_string()
}

fn describe_door(door: &Door, canonical: &Value, whole: &mut Value) {
    let tag = format!("Door: {}", door.lifecycle);
    let about = format!("Jobs of lifecycle {} below {}, in its own words.", door.lifecycle, door.mount);
    if let Some(tags) = whole["tags"].as_array_mut() {
        tags.push(json!({ "name": tag, "description": about }));
    }
    for name in ANSWERED.iter().chain(SENT).chain(AROUND) {
        let mut schema = canonical["components"]["schemas"][*name].clone();
        if !AROUND.contains(name) {
            rename(door, &mut schema, SENT.contains(name));
        }
        point_here(door, &mut schema);
        whole["components"]["schemas"][own(door, name)] = schema;
    }
    let paths = canonical["paths"].as_object().into_iter().flatten();
    let below = paths.filter_map(|(path, item)| Some((path.strip_prefix(CANONICAL)?, item)));
    for (rest, item) in below.filter(|(rest, _)| rest.is_empty() || rest.starts_with('/')) {
        let mut item = item.clone();
        for (_, operation) in item.as_object_mut().into_iter().flatten() {
            describe_operation(door, canonical, Route::of_path(rest), operation);
            operation["tags"] = json!([tag]);
        }
        whole["paths"][format!("{}{rest}", door.mount)] = item;
    }
}

fn describe_operation(door: &Door, canonical: &Value, route: Route, operation: &mut Value) {
    let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
    operation["operationId"] = format!("{}_{id}", door.lifecycle).into();
    for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
        let reference = parameter["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        let meant = reference.and_then(|pointer| canonical.pointer(pointer)).unwrap_or(parameter);
        let name = meant["name"].as_str().unwrap_or_default();
        if meant["in"] == "query" && route.queried().contains(&name) {
            let mut renamed = meant.clone();
            renamed["name"] = door.words.name(name).into();
            if name == "lifecycle" {
                renamed["schema"] = json!({ "const": door.lifecycle.as_str() });
            }
            *parameter = renamed;
        }
    }
    if let Some(body) = operation.pointer_mut("/requestBody/content/application~1json")
        && route != Route::Assets
    {
        if let Some(body) = body.as_object_mut() {
            // An example is of a type of another lifecycle.
            body.remove("example");
        }
        rename(door, &mut body["schema"], true);
    }
    point_here(door, operation);
}

/// A schema's name at a door.
fn own(door: &Door, name: &str) -> String {
    format!("{}.{name}", door.lifecycle)
}

/// Lets references to schemas that have fields of a job lead to the door's own, and examples of paths to the door.
fn point_here(door: &Door, value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let schema = member.as_str().and_then(|text| text.strip_prefix("#/components/schemas/"));
                match schema.filter(|_| name == "$ref") {
                    Some(schema) if [ANSWERED, SENT, AROUND].iter().any(|all| all.contains(&schema)) => {
                        *member = format!("#/components/schemas/{}", own(door, schema)).into();
                    }
                    _ => point_here(door, member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| point_here(door, item)),
        Value::String(text) => *text = door.below(text).unwrap_or_else(|| take(text)),
        _ => {}
    }
}

/// Gives the fields of a schema their names at a door, and adds the parts that have names there.
fn rename(door: &Door, schema: &mut Value, is_sent: bool) {
    let Some(fields) = schema.get("properties").and_then(Value::as_object).cloned() else { return };
    let is_here = |field: &str| fields.contains_key(field);
    let parts: Vec<(String, &str)> =
        door.words.parts().filter(|(part, _)| part.split('.').next().is_some_and(is_here)).collect();
    let is_whole_of = |(part, _): &(String, &str), field: &str| part.split('.').next() == Some(field);
    let is_taken = |field: &str| {
        let other = |other: &String| other != field && door.words.name(other) == field;
        door.words.name(field) == field
            && (fields.keys().any(other) || parts.iter().any(|(_, name)| *name == field))
    };
    let shown = |field: &str| (!is_taken(field)).then(|| door.words.name(field).to_owned());
    let mut properties: Map<String, Value> =
        fields.iter().filter_map(|(field, it)| Some((shown(field)?, it.clone()))).collect();
    for (part, name) in &parts {
        properties.insert((*name).to_owned(), part_schema(part, name, is_sent));
    }
    if is_sent && is_here("lifecycle") {
        let only = json!({ "enum": [door.lifecycle.as_str(), null] });
        properties.insert(door.words.name("lifecycle").to_owned(), only);
    }
    schema["properties"] = properties.into();
    let names_of = |field: &str| -> Vec<String> {
        let parts = parts.iter().filter(|part| is_whole_of(part, field)).map(|(_, name)| (*name).to_owned());
        shown(field).into_iter().chain(parts).collect()
    };
    if let Some(required) = schema.get("required").and_then(Value::as_array).cloned() {
        let mut must = Vec::new();
        for names in required.iter().filter_map(Value::as_str).map(names_of) {
            // What is sent may be the whole or a part of it; what is answered has both.
            if is_sent && names.len() > 1 {
                schema["anyOf"] = names.iter().map(|name| json!({ "required": [name] })).collect();
            } else {
                must.extend(names);
            }
        }
        schema["required"] = must.into();
    }
    if let Some(not) = schema.get_mut("not") {
        rename(door, not, is_sent);
    }
}

/// What is known of a part: an error's are texts, and others can be anything.
fn part_schema(part: &str, name: &str, is_sent: bool) -> Value {
    let about = format!("`{part}`.");
    let is_text = ["error.text", "error.code", "error.message"].contains(&part);
    match (is_sent, is_text) {
        (true, true) if name == "error" => {
            let whole = json!({ "$ref": "#/components/schemas/JobErrorGiven" });
            json!({ "description": format!("{about} Or the whole error."), "anyOf": [{ "type": "string" }, whole] })
        }
        (_, true) => json!({ "description": about, "type": ["string", "null"] }),
        (true, false) => json!({ "description": format!("{about} Not together with its whole.") }),
        (false, false) => json!({ "description": about }),
    }
}
