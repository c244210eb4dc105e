//! The description of the lifecycle APIs, derived from the canonical one: its paths below each mount, and its schemas with the
//! field names of each lifecycle.

use std::mem::take;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tenure_api::{CallId, OPENAPI, Verb};

use super::request::{Route, query_fields};
use super::{CANONICAL, LifecycleApi};

/// Schemas of answers with fields of a job.
const ANSWERED: &[&str] = &["Job", "JobAnswer", "JobBrief", "Explanation", "HeartbeatAnswer"];
/// Schemas of requests with fields of a job, besides the reports.
const SENT: &[&str] = &["NewJob", "NewBatchJob", "Amend", "JobFilter", "Signal", "NewLogLines"];
/// Schemas that contain one of the others.
const AROUND: &[&str] =
    &["NewJobs", "JobAction", "JobResult", "NamedJobResult", "JobResults", "ActionResults"];

/// Schemas of requests with fields of a job.
fn sent() -> impl Iterator<Item = String> {
    let reports = Verb::ALL.iter().map(|verb| format!("{verb:?}Body"));
    SENT.iter().map(|name| (*name).to_owned()).chain(reports)
}

/// Whether a lifecycle API has its own version of a schema.
fn is_own(name: &str) -> bool {
    ANSWERED.contains(&name) || AROUND.contains(&name) || sent().any(|sent| sent == name)
}

/// The whole description, with these APIs.
pub(super) fn describe(apis: &[Arc<LifecycleApi>]) -> String {
    let canonical: Value = serde_json::from_str(OPENAPI).expect("our description is JSON");
    let mut whole = canonical.clone();
    for api in apis {
        describe_api(api, &canonical, &mut whole);
    }
    whole.to_string()
}

fn describe_api(api: &LifecycleApi, canonical: &Value, whole: &mut Value) {
    let tag = format!("Lifecycle API: {}", api.lifecycle);
    let about = format!("Jobs of lifecycle {} below {}, with its field names.", api.lifecycle, api.mount);
    if let Some(tags) = whole["tags"].as_array_mut() {
        tags.push(json!({ "name": tag, "description": about }));
    }
    let schema = |name: &str| canonical["components"]["schemas"][name].clone();
    let answered = ANSWERED.iter().map(|name| ((*name).to_owned(), Some(false)));
    let around = AROUND.iter().map(|name| ((*name).to_owned(), None));
    for (name, is_sent) in answered.chain(sent().map(|name| (name, Some(true)))).chain(around) {
        let mut schema = schema(&name);
        if let Some(is_sent) = is_sent {
            rename(api, &mut schema, is_sent);
        }
        point_here(api, &mut schema);
        whole["components"]["schemas"][own(api, &name)] = schema;
    }
    for id in CallId::ALL {
        let call = id.call();
        let below = call.path.strip_prefix(CANONICAL).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let Some(rest) = below else { continue };
        let method = call.method.as_str().to_ascii_lowercase();
        let mut operation = canonical["paths"][call.path][&method].clone();
        describe_operation(api, *id, &mut operation);
        operation["tags"] = json!([tag]);
        whole["paths"][format!("{}{rest}", api.mount)][method] = operation;
    }
}

fn describe_operation(api: &LifecycleApi, id: CallId, operation: &mut Value) {
    let name = operation["operationId"].as_str().unwrap_or_default().to_owned();
    operation["operationId"] = format!("{}_{name}", api.lifecycle).into();
    let fields = query_fields(id);
    for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default().to_owned();
        if parameter["in"] == "query" && fields.contains(&&*name) {
            parameter["name"] = api.names.name(&name).into();
            if name == "lifecycle" {
                parameter["schema"] = json!({ "type": "string", "const": api.lifecycle.as_str() });
            }
        }
    }
    if let Some(body) = operation.pointer_mut("/requestBody/content/application~1json")
        && Route::of(id) != Route::Assets
        && let Some(body) = body.as_object_mut()
    {
        // The example has a type of another lifecycle.
        body.remove("example");
    }
    point_here(api, operation);
}

/// The name of an API's version of a schema.
fn own(api: &LifecycleApi, name: &str) -> String {
    format!("{}.{name}", api.lifecycle)
}

/// Replaces references to schemas with fields of a job by references to the API's versions, and canonical paths in
/// examples by paths of the API.
fn point_here(api: &LifecycleApi, value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let schema = member.as_str().and_then(|text| text.strip_prefix("#/components/schemas/"));
                match schema.filter(|_| name == "$ref") {
                    Some(schema) if is_own(schema) => {
                        *member = format!("#/components/schemas/{}", own(api, schema)).into();
                    }
                    _ => point_here(api, member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| point_here(api, item)),
        Value::String(text) => *text = api.below(text).unwrap_or_else(|| take(text)),
        _ => {}
    }
}

/// Renames the fields of a schema, and adds the parts of fields that have names in the API.
fn rename(api: &LifecycleApi, schema: &mut Value, is_sent: bool) {
    let Some(fields) = schema.get("properties").and_then(Value::as_object).cloned() else { return };
    let is_here = |field: &str| fields.contains_key(field);
    let parts: Vec<(String, &str)> =
        api.names.parts().filter(|(part, _)| part.split('.').next().is_some_and(is_here)).collect();
    let is_whole_of = |(part, _): &(String, &str), field: &str| part.split('.').next() == Some(field);
    let is_taken = |field: &str| {
        let other = |other: &String| other != field && api.names.name(other) == field;
        api.names.name(field) == field
            && (fields.keys().any(other) || parts.iter().any(|(_, name)| *name == field))
    };
    let shown = |field: &str| (!is_taken(field)).then(|| api.names.name(field).to_owned());
    let mut properties: Map<String, Value> =
        fields.iter().filter_map(|(field, it)| Some((shown(field)?, it.clone()))).collect();
    for (part, name) in &parts {
        properties.insert((*name).to_owned(), part_schema(part, name, is_sent));
    }
    if is_sent && is_here("lifecycle") {
        let only = json!({ "type": ["string", "null"], "enum": [api.lifecycle.as_str(), null] });
        properties.insert(api.names.name("lifecycle").to_owned(), only);
    }
    schema["properties"] = properties.into();
    let names_of = |field: &str| -> Vec<String> {
        let parts = parts.iter().filter(|part| is_whole_of(part, field)).map(|(_, name)| (*name).to_owned());
        shown(field).into_iter().chain(parts).collect()
    };
    if let Some(required) = schema.get("required").and_then(Value::as_array).cloned() {
        let mut must = Vec::new();
        for names in required.iter().filter_map(Value::as_str).map(names_of) {
            // A request may have the whole field or a part of it; an answer has both.
            if is_sent && names.len() > 1 {
                schema["anyOf"] = names.iter().map(|name| json!({ "required": [name] })).collect();
            } else {
                must.extend(names);
            }
        }
        schema["required"] = must.into();
    }
    if let Some(not) = schema.get_mut("not") {
        rename(api, not, is_sent);
        let cases = not.get_mut("anyOf").and_then(Value::as_array_mut).into_iter().flatten();
        cases.for_each(|case| rename(api, case, is_sent));
    }
}

/// The schema of a part of a field: parts of an error are texts, others can be anything.
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
