//! The checks before a job is created, and their order.

use std::time::Duration;

use serde_json::json;
use tenure_core::flow::{Among, OnConflict, Unique};
use tenure_runtime::UniqueDefinition;

use crate::fixture::{START, a_job, created, pass, submitted, with};
use crate::prelude::*;

fn pictures() -> Definitions {
    let properties = json!({ "prompt": { "type": "string" } });
    let guard = r#"size(payload.prompt) <= 20 && !payload.prompt.matches("(?i)forbidden")"#;
    let picture = TypeDefinition {
        schema: Some(json!({ "type": "object", "required": ["prompt"], "properties": properties })),
        guard: Some(guard.to_owned()),
        cost: 3,
        payload_bytes_max: Some(100),
        ..TypeDefinition::new("picture", "image")
    };
    Definitions { lifecycles: Lifecycle::built_in(), types: vec![picture], ..Definitions::default() }
}

fn picture(payload: &str) -> NewJob {
    NewJob { user_id: Some("u1".into()), ..NewJob::new("picture", Json::parse(payload).unwrap()) }
}

fn grant(amount: u64) -> Command {
    Command::GrantCredits { user: "u1".into(), amount, reason: None }
}

async fn code(runtime: &Runtime, new: NewJob) -> &'static str {
    match runtime.create(new).await.unwrap() {
        Ok(CommandOutput::Job { replayed: false, .. }) => "created",
        Ok(CommandOutput::Job { replayed: true, .. }) => "found",
        Ok(_) => "something else",
        Err(refusal) => refusal.code(),
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_failing_check_decides_in_the_documented_order() {
    let (runtime, _) = with(pictures(), Options::default()).await;
    let unknown = NewJob::new("unheard-of", Json::parse("[]").unwrap());
    assert_eq!(code(&runtime, unknown).await, "unknown_type");
    let create = async |payload: &str| code(&runtime, picture(payload)).await;
    let large = format!(r#"{{"prompt":"a","x":"{}"}}"#, "y".repeat(200));
    assert_eq!(create(r#"{"text":"a cat"}"#).await, "validation_failed");
    assert_eq!(create(r#"{"prompt":"something FORBIDDEN"}"#).await, "guard_rejected");
    assert_eq!(create(&large).await, "too_large");
    assert_eq!(create(r#"{"prompt":"a cat"}"#).await, "insufficient_credits");
    submitted(&runtime, grant(5)).await;
    assert_eq!(create(r#"{"prompt":"a cat"}"#).await, "created");
    assert_eq!(create(r#"{ "prompt": "a cat" }"#).await, "found", "the derived key, and no charge");
    assert_eq!(create(r#"{"prompt":"a dog"}"#).await, "insufficient_credits", "two are left");
}

/// A store of an earlier version may contain one, in a schedule for example.
#[tokio::test(start_paused = true)]
async fn a_stored_payload_that_cannot_be_read_is_refused_by_a_type_with_a_schema() {
    let (runtime, _) = with(pictures(), Options::default()).await;
    let payload = Json::stored(r#"{"prompt":"a cat","n":1e400}"#);
    assert_eq!(code(&runtime, NewJob::new("picture", payload)).await, "validation_failed");
}

#[tokio::test(start_paused = true)]
async fn a_given_key_finds_its_job_and_refuses_another_body() {
    let (runtime, _) = with(Definitions::default(), Options::default()).await;
    let order = |payload: &str| NewJob::new("order", Json::parse(payload).unwrap()).keyed("k1");
    assert_eq!(code(&runtime, order(r#"{"a":1,"b":2}"#)).await, "created");
    assert_eq!(code(&runtime, order(r#"{"b":2,"a":1}"#)).await, "found");
    assert_eq!(code(&runtime, order(r#"{"a":1}"#)).await, "idempotency_mismatch");
}

#[tokio::test(start_paused = true)]
async fn a_repeat_is_answered_with_its_job_whatever_the_size_limit_is_now() {
    let limited = |max: usize| {
        let draft =
            TypeDefinition { payload_bytes_max: Some(max), ..TypeDefinition::new("draft", "distributed") };
        let unique = |on_conflict| {
            let rule = Unique { among: Among::Waiting, on_conflict };
            Some(UniqueDefinition { key: "type".to_owned(), rule })
        };
        let named = |name: &str| TypeDefinition { name: name.to_owned(), ..draft.clone() };
        let returned = TypeDefinition { unique: unique(OnConflict::Return), ..named("returned") };
        let replaced = TypeDefinition { unique: unique(OnConflict::Replace), ..named("replaced") };
        let types = vec![draft, returned, replaced];
        Definitions { lifecycles: Lifecycle::built_in(), types, ..Definitions::default() }
    };
    let (runtime, _) = with(limited(100), Options::default()).await;
    let new = |job_type: &str| NewJob::new(job_type, Json::parse(r#"{"text":"longer"}"#).unwrap());
    for first in [new("draft").keyed("k1"), new("returned"), new("replaced")] {
        assert_eq!(code(&runtime, first).await, "created");
    }
    runtime.redefine(limited(5)).await.unwrap();
    assert_eq!(code(&runtime, new("draft").keyed("k1")).await, "found");
    assert_eq!(code(&runtime, new("returned")).await, "found");
    for refused in [new("draft"), new("draft").keyed("k2"), new("replaced")] {
        assert_eq!(code(&runtime, refused).await, "too_large");
    }
}

/// Makes a type invalid.
type Change = fn(&mut TypeDefinition);

#[tokio::test(start_paused = true)]
async fn invalid_definitions_are_refused_when_loaded() {
    let broken = |change: Change| {
        let mut definitions = pictures();
        change(&mut definitions.types[0]);
        definitions
    };
    let cases: [(&str, Change); 9] = [
        ("guard", |it| it.guard = Some("payload.prompt ==".to_owned())),
        ("guard", |it| it.guard = Some("paylod.prompt == 1".to_owned())),
        ("schema", |it| it.schema = Some(json!({ "type": "no-such-type" }))),
        ("schema", |it| it.schema = Some(json!({ "$ref": "http://127.0.0.1:1/schema.json" }))),
        ("no-such-lifecycle", |it| it.lifecycle = "no-such-lifecycle".to_owned()),
        ("compensates with", |it| it.compensate_with = Some("no-such-type".to_owned())),
        ("picture → picture", |it| it.compensate_with = Some("picture".to_owned())),
        ("has no [credits]", |it| it.lifecycle = "so1".to_owned()),
        ("no timeout rule", |it| it.timeouts = vec![("queued".to_owned(), Millis(5))]),
    ];
    for (word, change) in cases {
        let store = MemoryStore::with_tokio_clock(START);
        let refused = Runtime::start(store, broken(change), Options::default()).await;
        let explained = matches!(&refused, Err(StartError::Definition(why)) if why.contains(word));
        assert!(explained, "{word}: {refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_concurrent_creations_spend_exactly_the_balance() {
    let (runtime, _) = with(pictures(), Options::default()).await;
    submitted(&runtime, grant(30)).await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..100 {
        let runtime = runtime.clone();
        let new = picture(&format!(r#"{{"prompt":"cat {n}"}}"#));
        tasks.spawn(async move { runtime.create(new).await.unwrap() });
    }
    let results = tasks.join_all().await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 10);
    let short = |result: &&CommandResult| matches!(result, Err(Refusal::InsufficientCredits { .. }));
    assert_eq!(results.iter().filter(short).count(), 90);
}

#[tokio::test(start_paused = true)]
async fn creations_of_a_user_are_rate_limited_and_a_repeat_does_not_count() {
    let options = Options { creations_per_second: Some(2), ..Options::default() };
    let (runtime, _) = with(Definitions::default(), options).await;
    let of = |user: &str, key: &str| NewJob { user_id: Some(user.into()), ..a_job("work").keyed(key) };
    let first = created(&runtime, of("ann", "a")).await;
    created(&runtime, of("ann", "b")).await;
    let limited = runtime.create(of("ann", "c")).await.unwrap();
    assert!(matches!(limited, Err(Refusal::RateLimited { retry_after: Millis(1..=500) })), "{limited:?}");
    assert_eq!(created(&runtime, of("ann", "a")).await.id(), first.id(), "it already exists");
    created(&runtime, of("bob", "a")).await;
    let many: Vec<_> = (0..4).map(|n| of("eve", &format!("k{n}"))).collect();
    let results = runtime.create_all(many).await;
    assert_eq!(results.iter().filter(|result| matches!(result, Ok(Ok(_)))).count(), 2);
    pass(Duration::from_secs(1)).await;
    created(&runtime, of("ann", "c")).await;
    // A creation refused for another reason does not count.
    let other = NewJob { lifecycle: Some("nothing".into()), ..of("ann", "d") };
    assert!(runtime.create(other).await.unwrap().is_err());
    created(&runtime, of("ann", "d")).await;
}
