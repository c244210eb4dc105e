//! The form that creates one job of a type: a field for each simple property of its schema, or the payload as JSON.

use serde_json::{Map, Value};
use tenure_core::decide::CommandOutput;
use tenure_core::id::{TypeName, UserId};
use tenure_core::json::Json;
use tenure_runtime::NewJob;
use tenure_service::extract::Named;
use tenure_service::fields::name;

use crate::prelude::*;

/// Fields of a form; an object with more properties is written as JSON.
const FIELDS_MAX: usize = 30;
/// Alternatives of a list.
const CHOICES_MAX: usize = 100;

/// A property of the payload that has a field.
#[derive(Clone, Debug, PartialEq)]
struct Field<'s> {
    name: &'s str,
    what: What<'s>,
    is_required: bool,
    description: Option<&'s str>,
}

#[derive(Clone, Debug, PartialEq)]
enum What<'s> {
    Text,
    Number,
    Whole,
    Bool,
    /// One of these.
    Choice(&'s [Value]),
}

/// The fields of a schema; none if a required property, or a keyword that gives a meaning to others, needs JSON.
fn fields(schema: Option<&Value>) -> Vec<Field<'_>> {
    let Some(schema) = schema.filter(|schema| schema["type"] == "object") else { return Vec::new() };
    let Some(properties) = schema["properties"].as_object().filter(|all| all.len() <= FIELDS_MAX) else {
        return Vec::new();
    };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut found = Vec::new();
    for (name, property) in properties {
        let is_required = required.contains(&name.as_str());
        match What::of(property) {
            Some(what) => {
                let description = property["description"].as_str();
                found.push(Field { name, what, is_required, description });
            }
            None if is_required => return Vec::new(),
            None => {}
        }
    }
    let is_declared = |name: &&str| properties.contains_key(*name);
    if required.iter().all(is_declared) { found } else { Vec::new() }
}

impl<'s> What<'s> {
    fn of(property: &'s Value) -> Option<Self> {
        if let Some(choices) = property["enum"].as_array() {
            let is_simple = |value: &Value| !value.is_object() && !value.is_array();
            return (choices.len() <= CHOICES_MAX && choices.iter().all(is_simple))
                .then_some(Self::Choice(choices));
        }
        match property["type"].as_str()? {
            "string" => Some(Self::Text),
            "number" => Some(Self::Number),
            "integer" => Some(Self::Whole),
            "boolean" => Some(Self::Bool),
            _ => None,
        }
    }

    /// The value that was filled in.
    fn read(&self, name: &str, text: &str) -> Result<Value> {
        let bad = |what: &str| Problem::malformed(name.to_owned(), format!("must be {what}"));
        match self {
            Self::Text => Ok(text.into()),
            Self::Number | Self::Whole => {
                let number = serde_json::from_str::<Value>(text.trim()).ok().filter(Value::is_number);
                let is_whole = |number: &Value| *self == Self::Number || number.is_i64() || number.is_u64();
                number.filter(is_whole).ok_or_else(|| bad("a number"))
            }
            Self::Bool => text.parse().map(Value::Bool).map_err(|_| bad("true or false")),
            Self::Choice(choices) => {
                // A choice is written as JSON.
                let chosen = serde_json::from_str(text).ok().filter(|chosen| choices.contains(chosen));
                chosen.ok_or_else(|| bad("one of the list"))
            }
        }
    }
}

/// The name of a property's field in the form.
fn field_name(name: &str) -> String {
    format!("payload.{name}")
}

/// The form. What is left empty is not part of the payload.
pub(super) fn form(job_type: &TypeName, schema: Option<&Value>, caller: &Caller) -> Markup {
    let lacks = Visitor::lacks(caller, Right::ManageJobs);
    let (lacks, fields) = (lacks.as_deref(), fields(schema));
    html! {
        details.apart {
            summary { "Run one job" }
            form.filters method="post" action=(format!("/ui/types/{}/run", encode(job_type.as_str()))) {
                @for field in &fields { (input(field, lacks.is_some())) }
                label { "User" input name="user" disabled[lacks.is_some()] autocomplete="off" placeholder="none"; }
                label.whole {
                    @if fields.is_empty() { "Payload, JSON" } @else { "Payload, JSON, instead of the fields" }
                    textarea name="payload" rows="4" spellcheck="false" disabled[lacks.is_some()] { @if fields.is_empty() { "{}" } }
                }
                button.main type="submit" disabled[lacks.is_some()] title=[lacks] { "Run" }
            }
        }
    }
}

fn input(field: &Field<'_>, is_off: bool) -> Markup {
    let name = field_name(field.name);
    // Not `required`: the payload may be given as JSON instead.
    let label = html! { (field.name) @if field.is_required { " *" } };
    let kind = if field.what == What::Text { "text" } else { "number" };
    let step = (field.what == What::Number).then_some("any");
    html! {
        label title=[field.description] {
            (label)
            @match &field.what {
                What::Text | What::Number | What::Whole => {
                    input type=(kind) step=[step] name=(name) disabled[is_off] autocomplete="off";
                }
                What::Bool => {
                    select name=(name) disabled[is_off] { option value="" {} option { "true" } option { "false" } }
                }
                What::Choice(choices) => {
                    select name=(name) disabled[is_off] {
                        option value="" {}
                        @for choice in *choices {
                            option value=(choice) { @match choice.as_str() { Some(text) => (text), None => (choice) } }
                        }
                    }
                }
            }
        }
    }
}

/// The payload of a form.
fn payload(form: &mut Form, schema: Option<&Value>) -> Result<Json> {
    let mut filled = |field: &str| form.take(field).filter(|text| !text.trim().is_empty());
    let given = filled("payload");
    let mut object = Map::new();
    for field in fields(schema) {
        if let Some(text) = filled(&field_name(field.name)) {
            object.insert(field.name.to_owned(), field.what.read(field.name, &text)?);
        }
    }
    match given {
        Some(_) if !object.is_empty() => {
            Err(Problem::malformed("payload", "is given besides fields: fill in one or the other"))
        }
        Some(text) => Json::parse(&text).map_err(|flaw| Problem::malformed("payload", flaw.to_string())),
        None => Ok(Json::of(&Value::Object(object))),
    }
}

/// `POST /ui/types/{name}/run`.
pub(crate) async fn run(visitor: Visitor, Named(job_type): Named<TypeName>, mut form: Form) -> Reply {
    let Visitor { dashboard, caller, .. } = visitor;
    caller.may(Right::ManageJobs)?;
    let schema = dashboard.runtime().schema(&job_type);
    let payload = payload(&mut form, schema.as_deref())?;
    let user = form.take("user").filter(|user| !user.trim().is_empty());
    form.done()?;
    let (user_id, by, reader) = (owner(&caller, name("user", user)?)?, caller.origin(), caller.reader());
    let new = NewJob { user_id, by, reader, ..NewJob::new(job_type.as_str(), payload) };
    caller.may_create(&dashboard.runtime().catalog(), &new)?;
    match dashboard.runtime().create(new).await?? {
        CommandOutput::Job { job, .. } | CommandOutput::Amended(job) => {
            Ok(back(&job_address(job.id()), "This is the new job."))
        }
        _ => Ok(back(&format!("/ui/types/{}", encode(job_type.as_str())), "Done.")),
    }
}

/// A producer creates only its user's jobs.
fn owner(caller: &Caller, user: Option<UserId>) -> Result<Option<UserId>> {
    if caller.manages_all_users() || !caller.has(Role::Producer) {
        return Ok(user.or_else(|| caller.scopes.user_id.clone()));
    }
    if user.is_some() && user != caller.user {
        return Err(Problem::forbidden("a producer creates only jobs of its user"));
    }
    Ok(caller.user.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn simple_properties_have_fields() {
        let schema = json!({ "type": "object", "required": ["to"], "properties": {
            "to": { "type": "string", "description": "address" }, "copies": { "type": "integer" },
            "urgent": { "type": "boolean" }, "size": { "enum": ["a4", 3, null] }, "lines": { "type": "array" },
        } });
        let found = fields(Some(&schema));
        let names: Vec<_> = found.iter().map(|field| (field.name, field.is_required)).collect();
        assert_eq!(names.len(), 4, "the optional list has none: {names:?}");
        assert!(names.contains(&("to", true)) && names.contains(&("urgent", false)));
        for none in [
            json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "array" } } }),
            json!({ "type": "object", "required": ["b"], "properties": { "a": { "type": "string" } } }),
            json!({ "type": "array" }),
            json!(true),
        ] {
            assert_eq!(fields(Some(&none)), [], "{none}");
        }
        assert_eq!(fields(None), []);
    }

    #[test]
    fn a_field_has_the_type_of_its_property() {
        let read = |what: &What<'_>, text: &str| what.read("x", text).ok();
        assert_eq!(read(&What::Text, "7"), Some(json!("7")));
        assert_eq!(
            [read(&What::Whole, " 7 "), read(&What::Whole, "1.5"), read(&What::Whole, "x")],
            [Some(json!(7)), None, None]
        );
        assert_eq!(read(&What::Number, "1.5"), Some(json!(1.5)));
        assert_eq!([read(&What::Bool, "true"), read(&What::Bool, "yes")], [Some(json!(true)), None]);
        let choices = [json!("a4"), json!(3)];
        let choice = What::Choice(&choices);
        assert_eq!(
            [read(&choice, "\"a4\""), read(&choice, "3"), read(&choice, "a4")],
            [Some(json!("a4")), Some(json!(3)), None]
        );
    }
}
