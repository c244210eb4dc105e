//! `Prefer: return=minimal`: the same effects and refusals, and answers without the job.

use serde_json::{Value, json};
use tenure_e2e::*;

fn minimal(server: &Server, path: &str, body: &Value) -> Request {
    server.request("POST", path).header("prefer", "return=minimal").json(body)
}

/// A report of the lease holder, with more fields.
fn report_body(job: &Value, more: &Value) -> Value {
    merged(json!({ "worker": job["worker"], "fence": job["lease"]["fence"] }), more)
}

fn applied(reply: &Reply) -> (Option<&str>, Option<&str>) {
    (reply.header("preference-applied"), reply.header("idempotent-replayed"))
}

const APPLIED: Option<&str> = Some("return=minimal");

#[track_caller]
fn nothing(reply: &Reply, replayed: Option<&str>) {
    assert_eq!((reply.status, reply.text.as_str()), (204, ""));
    assert_eq!(applied(reply), (APPLIED, replayed));
    assert_eq!(reply.header("content-type"), None);
}

async fn a_whole_life(server: &Server) {
    let new = json!({ "type": "a", "payload": { "n": 1 } });
    let reply = minimal(server, "/api/jobs", &new).idempotent("k1").send().await;
    assert_eq!(applied(&reply), (APPLIED, None));
    let location = reply.header("location").map(str::to_owned);
    let job = reply.expect(202);
    let id = id(&job);
    assert_eq!((&job, location), (&json!({ "id": id }), Some(path(&job, ""))));
    let reply = minimal(server, "/api/jobs", &new).idempotent("k1").send().await;
    assert_eq!(applied(&reply), (APPLIED, Some("true")));
    assert_eq!(reply.expect(200), json!({ "id": id, "replayed": true }));

    let claimed = server.hold_one().await;
    assert_eq!((claimed["id"].as_str(), &claimed["payload"]), (Some(id), &json!({ "n": 1 })));
    let say = async |verb: &str, more: Value| {
        minimal(server, &path(&claimed, verb), &report_body(&claimed, &more)).send().await
    };
    nothing(&say("start", json!({})).await, None);
    nothing(&say("progress", json!({ "progress": 40 })).await, None);
    assert_eq!(server.job(&job).await["progress"], json!(40));
    // A heartbeat has an answer.
    let heartbeat = say("heartbeat", json!({})).await;
    assert_eq!(applied(&heartbeat), (None, None));
    assert_eq!(heartbeat.expect(200)["cancel"], json!(null));
    nothing(&say("succeed", json!({ "result": { "pages": 3 } })).await, None);
    let ended = server.job(&job).await;
    assert_fields(&ended, json!({ "outcome": "succeeded", "result": { "pages": 3 } }));
    nothing(&say("succeed", json!({ "result": { "pages": 3 } })).await, Some("true"));
    say("fail", json!({ "error": {} })).await.problem(409, "lease_conflict");
    say("succeed", json!({ "pages": 3 })).await.problem(400, "malformed");
    assert_eq!(server.job(&job).await, ended);

    let reply = minimal(server, &path(&job, "retry"), &json!({})).send().await;
    assert_eq!(applied(&reply), (APPLIED, None));
    let again = reply.expect(202);
    assert_eq!(again, json!({ "id": again["id"] }));
    nothing(&minimal(server, &path(&again, "cancel"), &json!({})).send().await, None);
    let cancelled = server.job(&again).await;
    assert_fields(&cancelled, json!({ "outcome": "cancelled", "retry_of": job["id"] }));
}

#[test]
fn a_whole_job_runs_with_minimal_answers() {
    on_both_stores(async |server| a_whole_life(&server).await);
}

#[test]
fn minimal_answers_work_over_http2() {
    let http2 = http_client().http2_prior_knowledge().build().unwrap();
    on_both_stores_with_setup(
        |setup| setup.client(http2.clone()),
        async |server| a_whole_life(&server).await,
    );
}

#[test]
fn a_call_without_effect_returns_the_whole_job() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let claimed = server.hold_one().await;
        let late = report_body(&claimed, &json!({ "progress": 40 }));
        let reply = minimal(&server, &path(&job, "progress"), &late).send().await;
        assert_eq!(applied(&reply), (None, None));
        let answer = reply.expect(200);
        assert_fields(&answer, json!({ "ignored": true, "state": "assigned" }));
    });
}

#[test]
fn operators_can_ask_for_minimal_answers() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let given_up = json!({ "reason_code": "policy_violation", "detail": "no" });
        nothing(&minimal(&server, &path(&job, "dead-letter"), &given_up).send().await, None);
        assert_eq!(server.job(&job).await["outcome"], json!("dead"));
    });
}

#[test]
fn a_minimal_batch_has_every_id_and_every_refusal() {
    on_both_stores(async |server| {
        let new = json!({ "jobs": [{ "type": "a" }, { "type": "a", "priority": "high" }, { "type": "a" }] });
        let reply = minimal(&server, "/api/jobs/batch", &new).send().await;
        assert_eq!(applied(&reply), (APPLIED, None));
        let created = reply.expect(200)["results"].clone();
        for nth in [0, 2] {
            assert_eq!(created[nth]["ok"], json!({ "id": created[nth]["ok"]["id"] }));
        }
        assert_eq!(created[1]["error"]["code"], json!("malformed"));

        let claimed = server.claim(json!({ "worker": "w1", "max": 2 })).await;
        let say = |nth: usize, verb: &str| json!({ "job": claimed[nth]["id"], "fence": claimed[nth]["lease"]["fence"], "verb": verb });
        let late = json!({ "job": claimed[1]["id"], "fence": 1, "verb": "progress", "progress": 1 });
        let reports = json!({ "worker": "w1", "reports": [
            say(0, "start"), say(0, "heartbeat"), say(0, "succeed"), say(0, "succeed"), late, say(1, "dance"),
        ] });
        let answer = minimal(&server, "/api/reports", &reports).send().await.expect(200)["results"].clone();
        let (one, other) = (&claimed[0]["id"], &claimed[1]["id"]);
        assert_fields(&answer, json!({ "/0/ok": { "id": one }, "/1/ok/lease/fence": 1 }));
        assert_fields(&answer, json!({ "/2/ok": { "id": one }, "/3/ok": { "id": one, "replayed": true } }));
        assert_fields(&answer, json!({ "/4/ok": { "id": other, "ignored": true } }));
        assert_fields(&answer, json!({ "/5/error/code": "malformed" }));
        assert_eq!(server.job(&claimed[0]).await["outcome"], json!("succeeded"));
    });
}

#[tokio::test]
async fn unknown_preferences_are_ignored() {
    let server = Server::sqlite().await;
    for preference in ["return=representation", "respond-async", "\"", "return=minimal;", "wait=1, ,return"] {
        let ask = server.request("POST", "/api/jobs").header("prefer", preference);
        let reply = ask.json(&json!({ "type": "a" })).send().await;
        let is_minimal = preference == "return=minimal;";
        assert_eq!(applied(&reply).0.is_some(), is_minimal, "{preference}");
        let job = reply.expect(202);
        assert_eq!(job.get("state").is_none(), is_minimal, "{preference}");
    }
}
