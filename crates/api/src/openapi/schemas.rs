//! Schemas of the wire types as JSON Schema, collected under `components`.

use serde_json::{Map, Value, json};

use crate::problem::ProblemCode;
use crate::request::{NewJob, Report, SET_BY_SCHEDULE};
use crate::schema::{Described, Field, NextCursor, Object, Schema};
use crate::{ApiKey, JobRecord, JobRequest, Lease, Verb, Webhook};

/// Schemas whose rules are not those of a struct.
const LITERALS: &str = include_str!("schemas.json");

/// The schemas that were used so far.
#[derive(Default)]
pub(super) struct Schemas(Map<String, Value>);

/// The fields of a type, with those of flattened ones.
pub(super) fn fields(object: &Object) -> Vec<Field> {
    let one = |field: &Field| match field.schema {
        Schema::Flatten(inner) => fields(inner),
        _ => vec![*field],
    };
    object.fields.iter().flat_map(one).collect()
}

/// The schema of a value that is there.
pub(super) fn given(schema: Schema) -> Schema {
    match schema {
        Schema::Maybe(inner) | Schema::Optional(inner) | Schema::Extra(inner) => *inner,
        other => other,
    }
}

impl Schemas {
    /// A schema, as it stands where it is used.
    pub(super) fn of(&mut self, schema: &Schema) -> Value {
        match schema {
            Schema::Any => json!({}),
            Schema::Text => json!({ "type": "string" }),
            Schema::Bool => json!({ "type": "boolean" }),
            Schema::True => json!({ "type": "boolean", "const": true }),
            Schema::Integer(minimum) => json!({ "type": "integer", "minimum": minimum }),
            Schema::AnyInteger => json!({ "type": "integer" }),
            Schema::Number => json!({ "type": "number", "minimum": 0 }),
            Schema::Json(text) => super::parse(text),
            Schema::Ref(name) => reference(name),
            Schema::Object(object) => self.named(object),
            Schema::List(item) => json!({ "type": "array", "items": self.of(item) }),
            Schema::ListUpTo(max, item) => {
                json!({ "type": "array", "items": self.of(item), "maxItems": max })
            }
            Schema::Map(item) => json!({ "type": "object", "additionalProperties": self.of(item) }),
            Schema::Nullable(inner) | Schema::Maybe(inner) | Schema::Default(_, inner) => {
                nullable(self.of(inner))
            }
            Schema::Optional(inner) | Schema::Extra(inner) => self.of(inner),
            Schema::AnyOf(all) => json!({ "anyOf": all.iter().map(|one| self.of(one)).collect::<Vec<_>>() }),
            Schema::Page(rows, row, next) => self.page(rows, row, *next),
            Schema::Flatten(_) => unreachable!("flattened fields are listed with the others"),
        }
    }

    fn page(&mut self, rows: &str, row: &Schema, next: NextCursor) -> Value {
        let end = "Null at the end.";
        let (mut next, about) = match next {
            NextCursor::Null => (json!({ "type": "null" }), ""),
            NextCursor::Nullable => (nullable(reference("Cursor")), end),
            NextCursor::NullableId => (nullable(reference("JobCursor")), end),
            NextCursor::Always => (reference("Cursor"), "Never null: where to continue, now or later."),
        };
        if !about.is_empty() {
            next["description"] = about.into();
        }
        json!({
            "type": "object",
            "required": [rows, "next_cursor"],
            "properties": { rows: { "type": "array", "items": self.of(row) }, "next_cursor": next },
        })
    }

    fn named(&mut self, object: &Object) -> Value {
        if !self.0.contains_key(object.name) {
            // Marks it, so that a type that contains itself ends.
            self.0.insert(object.name.to_owned(), Value::Null);
            let shown = self.object(object);
            self.0.insert(object.name.to_owned(), shown);
        }
        reference(object.name)
    }

    fn object(&mut self, object: &Object) -> Value {
        self.variant(object, &[], &[])
    }

    /// A type with some of the fields that only its variants have.
    fn variant(&mut self, object: &Object, required_extras: &[&str], optional_extras: &[&str]) -> Value {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for field in fields(object) {
            let is_required = match field.schema {
                Schema::Extra(_) if required_extras.contains(&field.name) => true,
                Schema::Extra(_) if optional_extras.contains(&field.name) => false,
                Schema::Extra(_) => continue,
                Schema::Maybe(_) | Schema::Optional(_) | Schema::Default(..) => false,
                _ => true,
            };
            properties.insert(field.name.to_owned(), self.described(&field));
            if is_required {
                required.push(field.name);
            }
        }
        let mut shown = json!({ "type": "object", "properties": properties });
        if object.is_request {
            shown["additionalProperties"] = false.into();
        }
        if !required.is_empty() {
            shown["required"] = json!(required);
        }
        if !object.about.is_empty() {
            shown["description"] = object.about.trim().into();
        }
        if !object.rules.is_empty()
            && let Value::Object(rules) = super::parse(object.rules)
        {
            shown.as_object_mut().expect("it is an object").extend(rules);
        }
        shown
    }

    fn described(&mut self, field: &Field) -> Value {
        let mut shown = self.of(&field.schema);
        let default = match field.schema {
            Schema::Default(default, _) => format!("Default: `{default}`."),
            _ => String::new(),
        };
        let about = format!("{} {default}", field.about.trim());
        if !about.trim().is_empty() {
            shown["description"] = about.trim().into();
        }
        shown
    }

    /// Adds the schemas that no call mentions as a type, and returns all.
    pub(super) fn finish(mut self) -> Map<String, Value> {
        let Value::Object(literals) = super::parse(LITERALS) else { unreachable!("the file is an object") };
        self.0.extend(literals);
        self.add("JobAnswer", &JobRecord::OBJECT, &[], &["replayed", "ignored"]);
        self.add("Job", &JobRecord::OBJECT, &[], &[]);
        self.add("JobRequest", &JobRequest::OBJECT, &[], &[]);
        self.add("ClaimedJob", &JobRecord::OBJECT, &["traceparent"], &["group"]);
        self.0["ClaimedJob"]["properties"]["lease"] = reference("GrantedLease");
        self.add("GrantedLease", &Lease::OBJECT, &["heartbeat", "ttl"], &[]);
        self.add("NewBatchJob", &NewJob::OBJECT, &[], &["idempotency_key"]);
        self.add("IssuedKey", &ApiKey::OBJECT, &["key"], &[]);
        self.add("IssuedWebhook", &Webhook::OBJECT, &["secret"], &[]);
        self.of(&crate::schema::of::<crate::JobBrief>());
        self.of(&crate::schema::of::<crate::LifecycleState>());
        self.of(&crate::schema::of::<crate::LifecycleTransition>());
        self.scheduled_job();
        self.reports();
        self.problems();
        self.0
    }

    fn add(&mut self, name: &str, object: &Object, required_extras: &[&str], optional_extras: &[&str]) {
        let shown = self.variant(object, required_extras, optional_extras);
        self.0.insert(name.to_owned(), shown);
    }

    /// A new job without the fields that a schedule sets.
    fn scheduled_job(&mut self) {
        let mut job = self.object(&NewJob::OBJECT);
        let members = job.as_object_mut().expect("it is an object");
        members.remove("not");
        let properties = members["properties"].as_object_mut().expect("it is an object");
        for name in SET_BY_SCHEDULE {
            properties.remove(*name);
        }
        self.0.insert("NewScheduledJob".to_owned(), job);
    }

    /// For each verb: its report about one job, and its report among many.
    fn reports(&mut self) {
        let all = self.object(&Report::OBJECT);
        let property = |name: &str| all["properties"][name].clone();
        let mut names = Vec::new();
        for verb in Verb::ALL {
            let body_name = format!("{verb:?}Body");
            let mut body = self.0.remove(&body_name).unwrap_or_else(|| {
                json!({
                    "type": "object",
                    "required": ["worker", "fence"],
                    "properties": { "worker": property("worker"), "fence": property("fence") },
                    "additionalProperties": false,
                })
            });
            let mut report = json!({ "type": "object", "required": ["job", "fence", "verb"], "additionalProperties": false });
            report["properties"] = json!({ "job": property("job"), "fence": property("fence"), "verb": { "type": "string", "const": verb.as_str() } });
            for (member, required) in verb.members() {
                for shown in [&mut body, &mut report] {
                    shown["properties"][*member] = match (*member, required) {
                        ("error", true) => reference("JobErrorGiven"),
                        _ => property(member),
                    };
                    if *required {
                        shown["required"].as_array_mut().expect("it is a list").push(json!(member));
                    }
                }
            }
            let name = format!("{verb:?}Report");
            names.push(reference(&name));
            self.0.insert(name, report);
            self.0.insert(body_name, body);
        }
        let any = json!({ "description": "A worker's report about one job.", "oneOf": names });
        self.0.insert("Report".to_owned(), any);
    }

    fn problems(&mut self) {
        let codes: Vec<&str> = ProblemCode::ALL.iter().map(|code| code.code()).collect();
        self.0["Problem"]["properties"]["code"]["enum"] = json!(codes);
        self.0.insert("ProblemCode".to_owned(), json!({ "type": "string", "enum": codes }));
        for code in ProblemCode::ALL {
            let own = self.problem(*code);
            self.0.insert(format!("{code:?}"), own);
        }
    }

    /// The problem with one code. Not `allOf` with the general one: generators cannot merge a constant with its type.
    fn problem(&self, code: ProblemCode) -> Value {
        let any = &self.0["Problem"];
        let mut required: Vec<Value> = any["required"].as_array().cloned().unwrap_or_default();
        required.extend(code.members().iter().map(|member| json!(member)));
        let member = |name: &Value| {
            let name = name.as_str().expect("it is a name");
            let schema =
                any["properties"].get(name).expect("schemas.json describes every member of a problem");
            (name.to_owned(), schema.clone())
        };
        let mut properties: Map<String, Value> = required.iter().map(member).collect();
        properties.insert("status".to_owned(), json!({ "type": "integer", "const": code.status() }));
        properties.insert("code".to_owned(), json!({ "type": "string", "const": code.code() }));
        json!({ "type": "object", "description": code.about(), "required": required, "properties": properties })
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// This or null.
fn nullable(mut schema: Value) -> Value {
    if !schema["type"].is_string() || schema.get("enum").is_some() {
        return json!({ "anyOf": [schema, { "type": "null" }] });
    }
    schema["type"] = json!([schema["type"], "null"]);
    schema
}
