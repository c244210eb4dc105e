//! Actions on the page of a job.

use serde_json::{Value, json};
use tenure_e2e::{id, on_both_stores, on_both_stores_with_files};

use super::super::{ask, plain_form};
use super::{SCREENED, acts, assert_contains, assert_lacks, form, inside, open_page, page, press};
use crate::jobs::REVIEW_FILES;
use crate::roles::create_keys;

#[test]
fn allowed_actions_are_done_and_others_refused() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let text = press(&server, &job, "/cancel", "").await.text;
        assert_contains(&text, &["cancelled", ">Retry</button>"]);
        let refused = press(&server, &job, "/cancel", "").await;
        assert_eq!(refused.status, 409);
        assert_contains(&refused.text, &["<h1", "invalid_transition"]);

        let held = server.create_claimed(json!({ "type": "a" })).await;
        let text = press(&server, &held, "/cancel", "reason=enough").await.text;
        assert_contains(&text, &["admin:open requested a cancel", "class=\"icon\""]);
        assert_lacks(&text, &[">Cancel</button>"]);
        let text = press(&server, &held, "/cancel-hard", "reason=now").await.text;
        assert_contains(&text, &["finished: cancelled"]);

        let dead = server.create(json!({ "type": "a" })).await;
        let fields = "reason_code=policy_violation&detail=not+this+one";
        let text = press(&server, &dead, "/dead-letter", fields).await.text;
        assert_contains(&text, &["policy_violation", "not this one"]);

        let claimed = server.create_claimed(json!({ "type": "review" })).await;
        server.succeed(&claimed).await;
        let text = open_page(&server, &claimed).await;
        let command = format!("tenure job signal {} approve", id(&claimed));
        assert_contains(&text, &["Waits for a decision", ">Approve<", ">Decline<", &command]);
        let decision = inside(&text, "id=\"job-decision\"", "id=\"job-actions\"");
        assert_contains(
            decision,
            &["name=\"comment\"", "The job becomes rejected, which is final.", "Payload"],
        );
        assert_eq!(press(&server, &claimed, "/signals/approve", "payload=%7Bno").await.status, 400);
        assert_eq!(press(&server, &claimed, "/signals/never", "").await.status, 409);
        let fields = "payload=%7B%22by%22%3A12345678901234567890123%7D";
        let text = press(&server, &claimed, "/signals/approve", fields).await.text;
        assert_contains(&text, &["published", "12345678901234567890123"]);

        // A comment becomes the payload of the signal, and is in the history.
        let claimed = server.create_claimed(json!({ "type": "review" })).await;
        server.succeed(&claimed).await;
        let both = "comment=no&payload=%7B%7D";
        assert_eq!(press(&server, &claimed, "/signals/decline", both).await.status, 400);
        let text = press(&server, &claimed, "/signals/decline", "comment=too+dark&payload=").await.text;
        assert_contains(&text, &["finished: rejected", "&quot;comment&quot;: &quot;too dark&quot;"]);
        assert_lacks(&text, &["Waits for a decision"]);

        // Forms from other origins, unknown actions and unknown jobs are refused.
        let job = server.create(json!({ "type": "a" })).await;
        let cancel = server.request("POST", &page(&job, "/cancel"));
        let cancel = cancel.header("content-type", "application/x-www-form-urlencoded");
        assert_eq!(cancel.bytes("").send().await.status, 403, "no origin");
        let cancel = server.request("POST", &page(&job, "/cancel")).header("origin", "https://evil.example");
        let cancel = cancel.header("content-type", "application/x-www-form-urlencoded");
        assert_eq!(cancel.bytes("").send().await.status, 403, "another origin");
        assert_eq!(press(&server, &job, "/promote", "").await.status, 404);
        assert_eq!(press(&server, &job, "/cancel", "x=1").await.status, 400);
        let unknown = json!({ "id": "01990c3a-7d2e-7000-8000-000000000000" });
        assert_eq!(press(&server, &unknown, "/cancel", "").await.status, 404);
        let gone = ask(&server, &page(&unknown, "")).await;
        assert_eq!(gone.status, 404);
        assert_contains(&gone.text, &["It never existed", "retention has ended"]);
    });
}

#[test]
fn an_irreversible_action_asks_first_without_scripts() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let done = server.create_finished(json!({ "type": "a" })).await;
        let waiting = server.create_claimed(json!({ "type": "review" })).await;
        server.succeed(&waiting).await;
        let claimed = server.create_claimed(json!({ "type": "a", "user_id": "ada" })).await;
        let hook = json!({ "id": "h", "url": "http://127.0.0.1:9/" });
        server.post("/api/webhooks", &hook).await.expect(201);
        let bulk = |action: &str| format!("action={action}&job={}&back=/ui/jobs?type%3Da", id(&done));
        let actions = [
            (page(&done, "/retry"), String::new(), "The job has succeeded."),
            (page(&done, "/delete"), "reason=x".to_owned(), "Delete this job with its events"),
            (page(&claimed, "/cancel-hard"), String::new(), "Its worker loses the lease at once"),
            (page(&claimed, "/dead-letter"), "reason_code=timeout".to_owned(), "into a dead letter?"),
            (
                page(&waiting, "/signals/decline"),
                "comment=no".to_owned(),
                "The job becomes rejected, which is final.",
            ),
            ("/ui/jobs/actions".to_owned(), bulk("delete"), "Delete this job?"),
            ("/ui/jobs/actions".to_owned(), bulk("retry"), "Of this job, 1 succeeded."),
            (
                "/ui/jobs/actions".to_owned(),
                "scope=matching&action=cancel".to_owned(),
                "Cancel all matching jobs?",
            ),
            ("/ui/accounts/ada/erase".to_owned(), "reason=x".to_owned(), "Erase this user?"),
            ("/ui/webhooks/h/replay".to_owned(), "since=1h".to_owned(), "Send these events again?"),
            ("/ui/webhooks/h/delete".to_owned(), String::new(), "Delete this webhook?"),
        ];
        let before = server.list("limit=500").await;
        for (path, fields, question) in actions {
            let asked = plain_form(&server, &path, &fields).send().await;
            assert_eq!(asked.status, 200, "{path}: {}", asked.text);
            assert_contains(&asked.text, &[question, "Are you sure?", "name=\"confirmed\" value=\"yes\""]);
            assert_contains(&asked.text, &[&format!("action=\"{path}\""), "Go back"]);
            for field in fields.split('&').filter(|field| !field.is_empty()) {
                let name = field.split('=').next().unwrap();
                assert_contains(&asked.text, &[&format!("type=\"hidden\" name=\"{name}\"")]);
            }
        }
        assert_eq!(server.list("limit=500").await, before, "nothing was done");
        assert_eq!(server.rows("/api/webhooks").await.len(), 1);
        // Asked and confirmed, it is done; a retry of a job that failed needs no question.
        let text = press(&server, &waiting, "/signals/decline", "comment=no").await.text;
        assert_contains(&text, &["finished: rejected"]);
        let cancelled = server.create(json!({ "type": "a" })).await;
        press(&server, &cancelled, "/cancel", "").await;
        assert_eq!(plain_form(&server, &page(&cancelled, "/retry"), "").send().await.status, 200);
        assert_eq!(server.list(&format!("retry_of={}", id(&cancelled))).await.len(), 1);
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
        let job = server.create_claimed(json!({ "type": "a" })).await;
        assert_lacks(&open_page(&server, &job).await, &[">Reject<"]);
    });
}

#[test]
fn a_caller_without_the_right_sees_why_and_is_refused() {
    on_both_stores(async |mut server| {
        let [producer, worker, _, viewer, _] = create_keys(&mut server).await;
        let own = server.create(json!({ "type": "a", "user_id": "u1" })).await;
        let other = server.create(json!({ "type": "b", "user_id": "u2", "correlation_id": own["id"] })).await;
        let see = async |key: &str, job: &Value| {
            server.request("GET", &page(job, "")).key(key).header("accept", "text/html").send().await
        };
        let press_as = async |key: &str, job: &Value, act: &str| {
            form(&server, &page(job, act), "").key(key).send().await
        };

        let seen = see(&viewer, &own).await.text;
        let count = |piece: &str| acts(&seen).matches(piece).count();
        assert_eq!(count("<button"), count("title=\"the role viewer may not do this\""));
        assert_contains(&seen, &["Authorization: Bearer $TENURE_KEY", &page(&other, "")]);
        for act in ["cancel", "cancel-hard", "retry", "dead-letter", "reject", "dismiss", "signals/go"] {
            assert_eq!(press_as(&viewer, &own, &format!("/{act}")).await.status, 403, "{act}");
        }

        let seen = see(&producer, &own).await.text;
        let refusal = "title=\"the role producer may not do this\"";
        assert_contains(acts(&seen), &["data-focus=\"Cancel\"", refusal]);
        assert_lacks(inside(acts(&seen), "/cancel\"", "</form>"), &["disabled"]);
        assert_lacks(&seen, &[&page(&other, "")]);
        for below in ["", "/log", "/text/payload"] {
            assert_eq!(server.get_as(&producer, &page(&other, below)).await.status, 403, "{below}");
        }
        assert_eq!(press_as(&producer, &other, "/cancel").await.status, 403);
        assert_eq!(press_as(&producer, &own, "/dead-letter").await.status, 403);

        assert_eq!(see(&worker, &own).await.status, 403);
        let claim = json!({ "worker": "w9", "types": ["a"], "max": 1 });
        server.post_as(&worker, "/api/claims", &claim).await.expect(200);
        assert_eq!(see(&worker, &own).await.status, 200);
        assert_eq!(press_as(&producer, &own, "/cancel-hard").await.status, 200);

        server.use_key(None);
        server.request("GET", &page(&own, "/log")).send().await.problem(401, "unauthenticated");
    });
}
