//! Shorthands for the JSON that the server answers.

use serde_json::Value;
use tenure_core::time::Timestamp;

/// The path of a job, or of a call on it.
pub fn path(job: &Value, call: &str) -> String {
    let id = job["id"].as_str().expect("a job has an id");
    if call.is_empty() { format!("/api/jobs/{id}") } else { format!("/api/jobs/{id}/{call}") }
}

/// The id of a job or of another row.
#[track_caller]
pub fn id(row: &Value) -> &str {
    row["id"].as_str().unwrap_or_else(|| panic!("no id: {row}"))
}

/// An object with more fields.
pub fn merged(mut object: Value, more: &Value) -> Value {
    object.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    object
}

/// The field names of an object, sorted.
pub fn field_names(object: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// The words of a text, sorted.
pub fn sorted_words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.sort_unstable();
    words
}

/// The elements of an array.
#[track_caller]
pub fn rows(array: &Value) -> &[Value] {
    array.as_array().unwrap_or_else(|| panic!("not an array: {array}"))
}

/// The row that has this value in this field.
#[track_caller]
pub fn find<'a>(array: &'a Value, field: &str, value: &str) -> &'a Value {
    let found = rows(array).iter().find(|row| row[field] == value);
    found.unwrap_or_else(|| panic!("no row with {field} {value}: {array}"))
}

/// One field of each row.
#[track_caller]
pub fn column(array: &Value, field: &str) -> Vec<Value> {
    rows(array).iter().map(|row| row[field].clone()).collect()
}

/// An RFC 3339 time in milliseconds since the epoch.
pub fn millis(time: &Value) -> i64 {
    Timestamp::parse(time.as_str().expect("a time")).expect("RFC 3339").0
}

/// Checks that an object has these fields and no others.
#[track_caller]
pub fn assert_field_names(object: &Value, names: &str) {
    assert_eq!(field_names(object), sorted_words(names));
}

/// Checks some fields of an object. A name with a slash is a JSON pointer, such as `/error/code`.
#[track_caller]
pub fn assert_fields(object: &Value, expected: Value) {
    let Value::Object(expected) = expected else { panic!("fields are an object") };
    for (name, value) in expected {
        let found = if name.starts_with('/') { object.pointer(&name) } else { object.get(&name) };
        assert_eq!(found.unwrap_or(&Value::Null), &value, "{name} of {object}");
    }
}
