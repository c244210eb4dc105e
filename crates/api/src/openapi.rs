//! The generator of `openapi.json`: turns the table of calls and the schemas of the wire types into it. It runs
//! only in the test that compares its output with the committed file.

mod agreement;
mod schemas;

use serde_json::{Map, Value, json};

use crate::call::shared::{header, query};
use crate::call::{Access, Answer, Body, Call, CallId, Header, Method, Parameter, Place, Tag};
use crate::problem::ProblemCode;
use crate::schema::Schema;
use schemas::Schemas;

/// The parts that do not depend on the table.
const BASE: &str = include_str!("openapi/base.json");

/// A parameter of every call that takes a body.
const IDEMPOTENCY_KEY: Parameter = header(
    "Idempotency-Key",
    "1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time.",
    Schema::Json(r#"{"type":"string","minLength":1,"maxLength":255,"pattern":"^[!-~]([ -~]*[!-~])?$"}"#),
);

/// The whole description.
fn describe() -> Value {
    let mut schemas = Schemas::default();
    let (mut paths, mut responses) = (Map::new(), Map::new());
    for id in CallId::ALL {
        let call = id.call();
        let operation = operation(*id, call, &mut schemas, &mut responses);
        let item = paths.entry(call.path).or_insert_with(|| json!({}));
        item[call.method.as_str().to_ascii_lowercase()] = operation;
    }
    let tag = |tag: &Tag| json!({ "name": tag.about().0, "description": tag.about().1 });
    let mut description = parse(BASE);
    description["tags"] = Tag::ALL.iter().map(tag).collect();
    description["paths"] = paths.into();
    description["components"]["schemas"] = schemas.finish().into();
    description["components"]["responses"] = responses.into();
    description
}

fn operation(id: CallId, call: &Call, schemas: &mut Schemas, responses: &mut Map<String, Value>) -> Value {
    let mut operation = json!({
        "operationId": snake_case(&format!("{id:?}")),
        "tags": [call.tag.about().0],
        "summary": call.summary,
    });
    let about = [call.about.to_owned(), roles(call.access)];
    let about: Vec<String> = about.into_iter().filter(|text| !text.is_empty()).collect();
    if !about.is_empty() {
        operation["description"] = about.join("\n\n").into();
    }
    if call.access == Access::Public {
        operation["security"] = json!([]);
    }
    let parameters = parameters(call, schemas);
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = request_body(call.body, schemas) {
        operation["requestBody"] = body;
    }
    for answer in call.answers {
        operation["responses"][answer.status.to_string()] = response(answer, schemas);
    }
    let mut codes = call.problem_codes();
    codes.sort_by_key(|code| (code.status(), ProblemCode::ALL.iter().position(|one| one == code)));
    codes.dedup();
    for group in codes.chunk_by(|one, other| one.status() == other.status()) {
        let name = group.iter().map(|code| format!("{code:?}")).collect::<Vec<_>>().join("Or");
        operation["responses"][group[0].status().to_string()] =
            json!({ "$ref": format!("#/components/responses/{name}") });
        responses.entry(name).or_insert_with(|| problem_response(group));
    }
    operation
}

fn roles(access: Access) -> String {
    let all = ["producer", "worker", "operator", "viewer", "admin"];
    let allowed: Vec<&str> =
        all.into_iter().filter(|role| access.allows(|right| right.roles().contains(role))).collect();
    match allowed.len() {
        5 => String::new(),
        _ => format!("Roles: {}.", allowed.join(", ")),
    }
}

fn parameters(call: &Call, schemas: &mut Schemas) -> Vec<Value> {
    let filter = call.filter.map(schemas::fields).unwrap_or_default().into_iter();
    let filter = filter.map(|field| query(field.name, field.about, schemas::given(field.schema)));
    let key = (call.method == Method::Post).then_some(IDEMPOTENCY_KEY);
    let all = call.parameters.iter().copied().chain(filter).chain(key);
    all.map(|parameter| {
        let mut shown = json!({
            "name": parameter.name,
            "in": snake_case(&format!("{:?}", parameter.place)),
            "description": parameter.about.trim(),
            "schema": schemas.of(&parameter.schema),
        });
        if parameter.place == Place::Path {
            shown["required"] = true.into();
        }
        if !parameter.example.is_empty() {
            shown["example"] = parse(parameter.example);
        }
        shown
    })
    .collect()
}

fn request_body(body: Body, schemas: &mut Schemas) -> Option<Value> {
    let mut json_body = |schema: &Schema, example: &str, required: bool| {
        json!({
            "required": required,
            "content": { "application/json": { "schema": schemas.of(schema), "example": parse(example) } },
        })
    };
    match body {
        Body::None | Body::Empty => None,
        Body::Json(schema, example) => Some(json_body(&schema, example, true)),
        Body::OptionalJson(schema, example) => Some(json_body(&schema, example, false)),
        Body::JsonOrContent(schema, example) => {
            let mut body = json_body(&schema, example, true);
            body["content"]["application/octet-stream"] =
                json!({ "schema": { "type": "string", "format": "binary" } });
            Some(body)
        }
    }
}

fn response(answer: &Answer, schemas: &mut Schemas) -> Value {
    let mut shown = json!({ "description": answer.about });
    for header in answer.headers {
        shown["headers"][header.name] = header_of(header, schemas);
    }
    let json = answer.json.map(|schema| ("application/json", schema));
    for (media, schema) in json.into_iter().chain(answer.other_content.iter().copied()) {
        shown["content"][media]["schema"] = schemas.of(&schema);
        if !answer.example.is_empty() {
            shown["content"][media]["example"] = parse(answer.example);
        }
    }
    shown
}

fn header_of(header: &Header, schemas: &mut Schemas) -> Value {
    let mut shown = json!({ "description": header.about, "schema": schemas.of(&header.schema) });
    if header.required {
        shown["required"] = true.into();
    }
    shown
}

fn problem_response(codes: &[ProblemCode]) -> Value {
    let about: Vec<String> =
        codes.iter().map(|code| format!("`{}`: {}", code.code(), code.about())).collect();
    let reference = |code: &ProblemCode| json!({ "$ref": format!("#/components/schemas/{code:?}") });
    let schema = match codes {
        [code] => reference(code),
        codes => json!({ "oneOf": codes.iter().map(reference).collect::<Vec<_>>() }),
    };
    let mut shown = json!({
        "description": about.join(" "),
        "content": { "application/problem+json": { "schema": schema } },
    });
    let text = |about: &str| json!({ "description": about, "schema": { "type": "string" } });
    let header = match codes[0].status() {
        401 => json!({ "WWW-Authenticate": text("How to authenticate.") }),
        416 => json!({ "Content-Range": text("`bytes */1234`: the size of the content.") }),
        429 | 503 => json!({ "Retry-After": {
            "description": "When to try again, in seconds.",
            "required": true,
            "schema": { "type": "integer", "minimum": 0 },
        } }),
        _ => return shown,
    };
    shown["headers"] = header;
    shown
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn snake_case(name: &str) -> String {
    let letter = |(index, letter): (usize, char)| match letter {
        'A'..='Z' if index > 0 => format!("_{}", letter.to_ascii_lowercase()),
        letter => letter.to_ascii_lowercase().to_string(),
    };
    name.chars().enumerate().map(letter).collect()
}

/// Members in alphabetical order, whether or not the map of this build keeps the order of insertion.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            members.into_iter().map(|(name, member)| (name, sorted(member))).collect()
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

#[test]
fn the_committed_description_is_the_generated_one() {
    let mut text = serde_json::to_string_pretty(&sorted(describe())).expect("the description is JSON");
    text.push('\n');
    if text != crate::OPENAPI {
        eprintln!("openapi.json differs from the calls: run UPDATE_EXPECT=1 cargo test -p tenure-api");
    }
    expect_test::expect_file!["../openapi.json"].assert_eq(&text);
}

#[test]
fn names_and_paths_are_unique_and_references_resolve() {
    let description = describe();
    let mut routes: Vec<(&str, &str)> =
        CallId::ALL.iter().map(|id| (id.call().method.as_str(), id.call().path)).collect();
    routes.sort_unstable();
    assert!(routes.windows(2).all(|pair| pair[0] != pair[1]), "{routes:?}");
    let mut references = Vec::new();
    collect_references(&description, &mut references);
    for reference in references {
        assert!(description.pointer(&reference[1..]).is_some(), "{reference} leads nowhere");
    }
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| collect_references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        _ => {}
    }
}

#[test]
fn a_path_names_each_of_its_parameters() {
    for id in CallId::ALL {
        let call = id.call();
        let named: Vec<&str> = call.path.split('/').filter(|part| part.starts_with('{')).collect();
        let given = call.parameters.iter().filter(|parameter| parameter.place == Place::Path);
        let given: Vec<String> = given.map(|parameter| format!("{{{}}}", parameter.name)).collect();
        assert_eq!(named, given, "{id:?}");
    }
}
