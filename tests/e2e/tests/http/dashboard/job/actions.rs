//! Actions on the page of a job.

use serde_json::{Value, json};
use tenure_e2e::{on_both_stores, on_both_stores_with_files};

use super::{SCREENED, assert_contains, assert_lacks, form, inside, open_page, page, press};
use crate::jobs::REVIEW_FILES;

#[test]
fn allowed_actions_are_done_and_others_refused() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let text = press(&server, &job, "/cancel", "").await.text;
        assert_contains(&text, &["cancelled", ">Retry</button>"]);
        let refused = press(&server, &job, "/cancel", "").await;
        assert_eq!(refused.status, 409);
        assert_contains(&refused.text, &["<h1", "invalid_transition"]);

        let held = server.create(json!({ "type": "a" })).await;
        server.claim_one().await;
        let text = press(&server, &held, "/cancel", "reason=enough").await.text;
        assert_contains(&text, &["admin:open requested a cancel", "▶"]);
        assert_lacks(&text, &[">Cancel</button>"]);
        assert_contains(
            &press(&server, &held, "/cancel-hard", "reason=now").await.text,
            &["finished: cancelled"],
        );

        let dead = server.create(json!({ "type": "a" })).await;
        let fields = "reason_code=policy_violation&detail=not+this+one";
        assert_contains(
            &press(&server, &dead, "/dead-letter", fields).await.text,
            &["policy_violation", "not this one"],
        );

        let draft = server.create(json!({ "type": "review" })).await;
        let claimed = server.claim_one().await;
        server.succeed(&claimed).await;
        let text = open_page(&server, &draft).await;
        let id = draft["id"].as_str().unwrap();
        assert_contains(
            &text,
            &[">Signal approve<", ">Signal decline<", &format!("tenure job signal {id} approve")],
        );
        let bad = press(&server, &draft, "/signals/approve", "payload=%7Bno").await;
        assert_eq!(bad.status, 400);
        assert_eq!(press(&server, &draft, "/signals/never", "").await.status, 409);
        let fields = "payload=%7B%22by%22%3A12345678901234567890123%7D";
        let text = press(&server, &draft, "/signals/approve", fields).await.text;
        assert_contains(&text, &["published", "12345678901234567890123"]);

        // Forms from other origins, unknown actions and unknown jobs are refused.
        let job = server.create(json!({ "type": "a" })).await;
        for origin in [None, Some("https://evil.example")] {
            let request = server.request("POST", &page(&job, "/cancel"));
            let request = request.header("content-type", "application/x-www-form-urlencoded").bytes("");
            let request =
                origin.into_iter().fold(request, |request, origin| request.header("origin", origin));
            assert_eq!(request.send().await.status, 403, "{origin:?}");
        }
        assert_eq!(press(&server, &job, "/promote", "").await.status, 404);
        assert_eq!(press(&server, &job, "/cancel", "x=1").await.status, 400);
        let unknown = json!({ "id": "01990c3a-7d2e-7000-8000-000000000000" });
        let gone = press(&server, &unknown, "/cancel", "").await;
        assert_eq!(gone.status, 404);
        let gone = server.request("GET", &page(&unknown, "")).header("accept", "text/html").send().await;
        assert_eq!(gone.status, 404);
        assert_contains(&gone.text, &["It never existed", "retention has ended"]);
    });
}

#[test]
fn an_operator_can_reject_a_job_without_a_worker() {
    let config = "lifecycles = [\"screened.toml\"]\n[types.\"*\"]\nlifecycle = \"screened\"\n";
    on_both_stores_with_files(&[("tenure.toml", config), ("screened.toml", SCREENED)], async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        assert_contains(&open_page(&server, &job).await, &[">Reject<"]);
        assert_eq!(press(&server, &job, "/reject", "reason=").await.status, 400);
        assert_contains(&press(&server, &job, "/reject", "reason=spam").await.text, &["finished: rejected"]);
        let job = server.create(json!({ "type": "a" })).await;
        server.claim_one().await;
        assert_lacks(&open_page(&server, &job).await, &[">Reject<"]);
    });
}

#[test]
fn a_caller_without_the_right_sees_why_and_is_refused() {
    on_both_stores(async |mut server| {
        server.use_admin_key().await;
        let viewer = server.create_key("viewer", None).await;
        let producer = server.create_key("producer", Some("ann")).await;
        let worker = server.create_key("worker", None).await;
        let own = server.create(json!({ "type": "a", "user_id": "ann" })).await;
        let other =
            server.create(json!({ "type": "b", "user_id": "bob", "correlation_id": own["id"] })).await;
        let see = async |key: &str, job: &Value| {
            server.request("GET", &page(job, "")).key(key).header("accept", "text/html").send().await
        };
        let press_as = async |key: &str, job: &Value, act: &str| {
            form(&server, &page(job, act), "").key(key).send().await
        };

        let seen = see(&viewer, &own).await.text;
        let acts = inside(&seen, "id=\"job-actions\"", "CLI and curl");
        assert_eq!(
            acts.matches("<button").count(),
            acts.matches("title=\"the role viewer may not do this\"").count()
        );
        assert_contains(&seen, &["Authorization: Bearer $TENURE_KEY", &page(&other, "")]);
        for act in ["/cancel", "/cancel-hard", "/retry", "/dead-letter", "/reject", "/dismiss", "/signals/go"]
        {
            assert_eq!(press_as(&viewer, &own, act).await.status, 403, "{act}");
        }

        let seen = see(&producer, &own).await.text;
        let acts = inside(&seen, "id=\"job-actions\"", "CLI and curl");
        assert_contains(acts, &["data-focus=\"Cancel\"", "title=\"the role producer may not do this\""]);
        assert_lacks(inside(acts, "/cancel\"", "</form>"), &["disabled"]);
        assert_lacks(&seen, &[&page(&other, "")]);
        for below in ["", "/log", "/text/payload"] {
            let reply = server.request("GET", &page(&other, below)).key(&producer).send().await;
            assert_eq!(reply.status, 403, "{below}");
        }
        assert_eq!(press_as(&producer, &other, "/cancel").await.status, 403);
        assert_eq!(press_as(&producer, &own, "/dead-letter").await.status, 403);

        assert_eq!(see(&worker, &own).await.status, 403);
        let claim = json!({ "worker": "w9", "types": ["a"], "max": 1 });
        server.post_as(&worker, "/api/claims", &claim).await.expect(200);
        assert_eq!(see(&worker, &own).await.status, 200);
        assert_eq!(press_as(&producer, &own, "/cancel-hard").await.status, 200);

        server.use_key(None);
        let shut = server.request("GET", &page(&own, "/log")).send().await;
        shut.problem(401, "unauthenticated");
    });
}
