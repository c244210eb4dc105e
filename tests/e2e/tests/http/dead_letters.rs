//! Dead letters: list, dismiss, redrive.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_e2e::*;

const LETTER: &str = "job_id type created_at reason_code stage last_error attempts last_owner last_lease_expires_at \
                      correlation_id dismissed_at dismissed_by dismissed_reason";

/// Creates a job that fails its only attempt.
pub(crate) async fn create_dead(server: &Server, mut job: Value, error: Value) -> Value {
    job["max_attempts"] = json!(1);
    let claimed = server.create_claimed(job).await;
    let finished = server.report_ok(&claimed, "fail", json!({ "error": error })).await;
    assert_eq!(finished["outcome"], "dead", "{finished}");
    finished
}

#[test]
fn a_dead_letter_has_its_error_and_can_be_dismissed() {
    on_both_stores(async |server| {
        let error = json!({ "code": "E", "message": "no", "stage": "fetch" });
        let job = create_dead(&server, json!({ "type": "a", "correlation_id": "c-1" }), error).await;
        let page = server.read("/api/dead-letters").await;
        assert_eq!(field_names(&page), ["dead_letters", "next_cursor"]);
        let letter = &page["dead_letters"][0];
        assert_field_names(letter, LETTER);
        assert_fields(
            letter,
            json!({ "job_id": job["id"], "type": "a", "reason_code": "exhausted_retries" }),
        );
        assert_fields(letter, json!({ "stage": "fetch", "attempts": 1, "/last_error/code": "E" }));
        assert_fields(letter, json!({ "last_owner": "w1", "correlation_id": "c-1", "dismissed_at": null }));
        assert!(letter["last_lease_expires_at"].is_string() && letter["created_at"].is_string());
        let dismiss = format!("/api/dead-letters/{}/dismiss", id(&job));
        let dismissed = server.post_ok(&dismiss, &json!({ "reason": "known" })).await;
        assert_fields(&dismissed, json!({ "job_id": job["id"], "type": "a", "dismissed_reason": "known" }));
        assert!(dismissed["dismissed_by"].is_string() && dismissed["dismissed_at"].is_string());
        assert_eq!(server.read("/api/dead-letters").await["dead_letters"], json!([]));
        assert_eq!(server.rows("/api/dead-letters?dismissed=true").await, [dismissed]);
        server.post(&dismiss, &json!({})).await.problem(400, "malformed");
        let live = server.create(json!({ "type": "a" })).await;
        let dismiss = format!("/api/dead-letters/{}/dismiss", id(&live));
        server.post(&dismiss, &json!({ "reason": "x" })).await.problem(404, "not_found");
    });
}

/// A lifecycle whose jobs are `lost` when they fail; before, that state was called `buried`.
const FRAGILE: &str = r#"
name = "fragile"
version = 1
about = "Fails for good."
initial = "queued"

[states]
queued = { role = "ready" }
running = { role = "active" }
done = { outcome = "succeeded" }
lost = { outcome = "dead", alias = "buried" }

[[transitions]]
on = "create"
to = "queued"

[[transitions]]
on = "claim"
from = "queued"
to = "running"

[[transitions]]
on = "succeed"
from = "running"
to = "done"

[[transitions]]
on = ["fail", "lease_expired"]
from = "running"
to = "lost"
"#;

#[test]
fn an_alias_of_a_state_is_accepted_in_filters_and_queries() {
    let config = "lifecycles = [\"fragile.toml\"]\n[types.a]\nlifecycle = \"fragile\"\n";
    on_both_stores_with_files(&[("tenure.toml", config), ("fragile.toml", FRAGILE)], async |server| {
        let job = create_dead(&server, json!({ "type": "a" }), json!({ "code": "E" })).await;
        let done = server.create_finished(json!({ "type": "a" })).await;
        let found = async |path: &str| server.column(path, "id").await;
        let ids = vec![job["id"].clone()];
        for state in ["buried", "lost"] {
            assert_eq!(found(&format!("/api/jobs?state={state}")).await, ids, "{state}");
            assert_eq!(found(&format!("/api/jobs?q=state:{state}")).await, ids, "{state}");
            let letters = server.column(&format!("/api/dead-letters?state={state}"), "job_id").await;
            assert_eq!(letters, ids, "{state}");
            let body = json!({ "filter": { "state": state } });
            assert_eq!(server.post_ok("/api/dead-letters/redrive", &body).await["redriven"], 1, "{state}");
        }
        let both = vec![done["id"].clone(), job["id"].clone()];
        assert_eq!(found("/api/jobs?q=state:buried,done").await, both);
    });
}

#[test]
fn dead_letters_are_filtered_and_paged() {
    on_both_stores(async |server| {
        let mut ids = Vec::new();
        for index in 0..7 {
            let stage = if index % 2 == 0 { "fetch" } else { "exec" };
            let (kind, queue) = (format!("t{index}"), format!("q{}", index % 3));
            let job = json!({ "type": kind, "user_id": "u", "queue": queue });
            ids.push(create_dead(&server, job, json!({ "stage": stage })).await["id"].clone());
        }
        let given_up = server.create(json!({ "type": "x" })).await;
        let body = json!({ "reason_code": "policy_violation", "detail": "d" });
        server.call_ok(&given_up, "dead-letter", &body).await;
        ids.push(given_up["id"].clone());
        ids.reverse();
        let listed = async |query: &str| server.column(&format!("/api/dead-letters?{query}"), "job_id").await;
        assert_eq!(listed("").await, ids, "newest first");
        assert_eq!(listed("reason_code=policy_violation").await, ids[..1]);
        assert_eq!(listed("stage=exec").await.len(), 3);
        assert_eq!(listed("type=t3").await.len(), 1);
        assert_eq!(listed("queue=q0").await.len(), 3);
        assert_eq!(listed("user_id=u").await.len(), 7);
        assert_eq!(listed("worker=w1&stage=fetch").await.len(), 4);
        assert_eq!(listed("outcome=failed").await.len(), 0);
        let seen = server.all_pages("/api/dead-letters?limit=3", "dead_letters").await;
        assert_eq!(column(&json!(seen), "job_id"), ids);
        for bad in ["reason_code=x", "stage=x", "dismissed=x", "limit=501", "colour=red"] {
            server.get(&format!("/api/dead-letters?{bad}")).await.problem(400, "malformed");
        }
    });
}

#[test]
fn a_redrive_creates_jobs_at_the_requested_rate() {
    on_both_stores(async |server| {
        let mut ids = Vec::new();
        for index in 0..5 {
            let job = json!({ "type": "a", "payload": { "n": index } });
            ids.push(create_dead(&server, job, json!({})).await["id"].clone());
        }
        let redrive = "/api/dead-letters/redrive";
        let some = json!({ "ids": [ids[0], "01990c3a-7d2e-7000-8000-000000000000"] });
        let answer = server.post_ok(redrive, &some).await;
        let result = |field: &str| rows(&answer["results"]).iter().find(|row| row[field].is_object());
        let good = result("ok").expect("one is redriven");
        let bad = result("error").expect("one is not there");
        assert_fields(&good["ok"], json!({ "retry_of": ids[0], "payload": { "n": 0 } }));
        assert_eq!(bad["error"]["code"], "not_found");

        let slowly = json!({ "filter": { "type": "a" }, "max_per_second": 0.5 });
        let jobs = column(&server.post_ok(redrive, &slowly).await["results"], "ok");
        assert_eq!(jobs.len(), 5);
        assert!(jobs.iter().all(|job| ids.contains(&job["retry_of"])));
        let times: Vec<i64> = jobs.iter().map(|job| millis(&job["run_at"])).collect();
        let spread: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(spread.iter().all(|gap| (1900..=2100).contains(gap)), "two seconds apart: {spread:?}");
        // One job of each redrive is ready at once.
        assert_eq!(server.claim(json!({ "worker": "w", "max": 9 })).await.len(), 2);
        for bad in [r#"{"ids":[],"filter":{}}"#, r#"{"ids":["x"]}"#, r#"{"filter":{"colour":"red"}}"#] {
            server.post_text(redrive, bad).await.problem(400, "malformed");
        }
        for bad in ["{}", r#"{"filter":{},"max_per_second":0}"#] {
            server.post_text(redrive, bad).await.problem(400, "malformed");
        }
    });
}

#[test]
fn a_redrive_is_idempotent_with_a_key() {
    on_both_stores(async |server| {
        for _ in 0..2 {
            create_dead(&server, json!({ "type": "a" }), json!({})).await;
        }
        let redrive = async || {
            let all = json!({ "filter": {} });
            let answer = server.post_keyed("k", "/api/dead-letters/redrive", &all).await.expect(200);
            column(&json!(column(&answer["results"], "ok")), "id")
        };
        let (first, second) = (redrive().await, redrive().await);
        assert_eq!((first.len(), &first), (2, &second));
        assert_eq!(server.rows("/api/jobs?phase=ready").await.len(), 2);
    });
}

#[test]
fn a_redrive_by_filter_applies_to_every_dead_letter() {
    const LETTERS: usize = 520;
    on_both_stores(async |server| {
        for job in server.create_many(LETTERS, json!({ "type": "a" })).await {
            let body = json!({ "reason_code": "dependency_unavailable", "detail": "down" });
            server.call_ok(&job, "dead-letter", &body).await;
        }
        let filter = json!({ "filter": { "reason_code": "dependency_unavailable" } });
        let jobs = column(&server.post_ok("/api/dead-letters/redrive", &filter).await["results"], "ok");
        let of: BTreeSet<String> = jobs.iter().map(|job| job["retry_of"].to_string()).collect();
        assert_eq!(of.len(), LETTERS);
        assert_eq!(server.claim(json!({ "worker": "w", "max": 1000 })).await.len(), LETTERS);
    });
}
