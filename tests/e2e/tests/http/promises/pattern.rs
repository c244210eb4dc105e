//! pattern: progress, validated transitions, and partial success.

use serde_json::{Value, json};
use tenure_e2e::{Server, assert_fields, column, on_both_stores_with_config, path};

use super::{assert_timestamps, check_transitions, claim, new_job};

const CONFIG: &str = r#"
[types.export]
lifecycle = "pattern"
[types.generation]
lifecycle = "pattern"
"#;

#[test]
fn valid_transitions_happen_and_an_invalid_one_names_the_current_state() {
    check_transitions(CONFIG, "export", include_str!("pattern.txt"));
}

async fn processing(server: &Server) -> Value {
    let job = new_job(server, "export", json!({})).await;
    claim(server, &job, "w1").await.remove(0)
}

#[test]
fn a_new_job_is_queued_with_its_parameters_and_nothing_else() {
    on_both_stores_with_config(CONFIG, async |server| {
        let asked = json!({ "type": "export", "user_id": "u1", "payload": { "pages": 3 } });
        let job = server.create(asked.clone()).await;
        assert_fields(&job, asked);
        assert_fields(&job, json!({ "state": "queued", "progress": 0 }));
        assert_fields(&job, json!({ "result": null, "error": null, "completed_at": null }));
        let bare = server.create(json!({ "type": "export" })).await;
        assert_eq!(bare["payload"], json!({}), "no parameters are empty ones");
    });
}

#[test]
fn progress_is_recorded_only_while_the_job_is_processed() {
    on_both_stores_with_config(CONFIG, async |server| {
        let claimed = processing(&server).await;
        for percent in [25, 50, 75, 60] {
            let answer = json!({ "progress": percent, "message": "step" });
            let job = server.report_ok(&claimed, "progress", answer).await;
            assert_fields(&job, json!({ "progress": percent, "state": "processing" }));
            assert_eq!((&job["seq"], &job["ignored"]), (&claimed["seq"], &Value::Null), "not a transition");
        }
        for bad in [-1, 101] {
            server.report(&claimed, "progress", json!({ "progress": bad })).await.problem(400, "malformed");
        }
        let finished = server.report_ok(&claimed, "succeed", json!({ "result": { "asset_count": 1 } })).await;
        assert_fields(&finished, json!({ "progress": 100, "result": { "asset_count": 1 } }));
        let late = server.report_ok(&claimed, "progress", json!({ "progress": 5 })).await;
        assert_fields(&late, json!({ "ignored": true, "progress": 100, "state": "completed" }));
    });
}

#[test]
fn a_partial_success_has_a_result_and_an_error_and_a_failure_keeps_its_progress() {
    on_both_stores_with_config(CONFIG, async |server| {
        let claimed = processing(&server).await;
        let half = json!({ "result": { "made": 2 }, "error": { "code": "ONE_LOST", "message": "of three" } });
        let finished = server.report_ok(&claimed, "partial", half).await;
        assert_fields(&finished, json!({ "state": "partial", "outcome": "partial", "progress": 100 }));
        assert_fields(&finished, json!({ "result": { "made": 2 }, "/error/text": "ONE_LOST: of three" }));
        assert_timestamps(&finished);
        let claimed = processing(&server).await;
        server.report_ok(&claimed, "progress", json!({ "progress": 60 })).await;
        let error = json!({ "error": { "code": "DISK", "message": "it is full" } });
        let finished = server.report_ok(&claimed, "fail", error).await;
        assert_fields(&finished, json!({ "state": "failed", "progress": 60 }));
        assert_eq!(finished["error"]["text"], "DISK: it is full");
        assert_timestamps(&finished);
    });
}

#[test]
fn users_list_their_jobs_newest_first_by_state_and_type() {
    on_both_stores_with_config(CONFIG, async |mut server| {
        server.use_admin_key().await;
        let ann = server.create_key("producer", Some("ann")).await;
        let bob = server.create_key("producer", Some("bob")).await;
        let mut created = Vec::new();
        for kind in ["export", "generation", "export"] {
            let reply = server.post_as(&ann, "/api/jobs", &json!({ "type": kind })).await;
            created.insert(0, reply.expect(202)["id"].clone());
        }
        let bobs = server.post_as(&bob, "/api/jobs", &json!({ "type": "export" })).await.expect(202);
        let listed = async |query: &str| {
            let page = server.get_as(&ann, &format!("/api/jobs?{query}")).await.expect(200);
            column(&page["jobs"], "id")
        };
        assert_eq!(listed("").await, created);
        assert_eq!(listed("type=export").await, [created[0].clone(), created[2].clone()]);
        assert_eq!(listed("state=queued&type=generation").await, [created[1].clone()]);
        assert_eq!(listed("state=completed").await, Vec::<Value>::new());
        assert_eq!(listed("limit=2").await, created[..2]);
        server.get_as(&ann, &path(&bobs, "")).await.problem(403, "forbidden");
        let unknown = "/api/jobs/01990c3a-7d2e-7000-8000-000000000000";
        server.get_as(&ann, unknown).await.problem(404, "not_found");
    });
}
