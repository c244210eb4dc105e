//! Unique keys and amendments, over HTTP.

use serde_json::{Value, json};
use tenure_e2e::*;

use crate::roles::create_keys;

const CONFIG: &str = r#"
[types.returned]
lifecycle = "distributed"
unique = { key = "payload.k", among = "waiting" }

[types.refused]
lifecycle = "distributed"
unique = { key = "payload.k", on_conflict = "refuse" }

[types.replaced]
lifecycle = "distributed"
schema = { properties = { n = { type = "integer" } } }
guard = "!has(payload.n) || payload.n >= 0"
unique = { key = "payload.k", among = "waiting", on_conflict = "replace" }

[types.postponed]
lifecycle = "distributed"
unique = { key = "payload.k", among = "waiting", on_conflict = "postpone", delay = "1h", max_delay = "90m" }

[types.cancelled]
lifecycle = "distributed"
unique = { key = "payload.k", on_conflict = "cancel" }

[types."*"]
lifecycle = "distributed"
"#;

fn job(job_type: &str, n: i64) -> Value {
    json!({ "type": job_type, "payload": { "k": "a", "n": n } })
}

async fn amend(server: &Server, job: &Value, body: &Value) -> Reply {
    server.request("PATCH", &path(job, "")).json(body).send().await
}

#[test]
fn a_creation_with_the_unique_key_of_another_job_has_the_declared_effect() {
    on_both_stores_with_config(CONFIG, async |server| {
        let first = server.create(job("returned", 1)).await;
        assert_eq!(first["flow"], json!({ "unique": "a" }));
        let again = server.post("/api/jobs", &job("returned", 2)).await.expect_replay();
        assert_eq!((&again["id"], &again["payload"]["n"]), (&first["id"], &json!(1)));

        let first = server.create(job("refused", 1)).await;
        let refused = server.post("/api/jobs", &job("refused", 2)).await.problem(409, "duplicate");
        assert_eq!(refused["job_id"], first["id"]);

        let first = server.create(job("replaced", 1)).await;
        let reply = server.post("/api/jobs", &job("replaced", 2)).await;
        assert_eq!(reply.header("idempotent-replayed"), None);
        let replaced = reply.expect(200);
        assert_eq!((&replaced["id"], &replaced["payload"]["n"]), (&first["id"], &json!(2)));
        let events = server.events(&first).await;
        assert_fields(
            &events[1],
            json!({ "seq": 2, "type": "job_amended", "trigger": "amend", "from": "queued", "to": "queued" }),
        );
        assert_eq!(events[1]["payload"]["payload"], json!({ "k": "a", "n": 2 }));
        let page = server.get(&format!("/ui/jobs/{}", id(&first))).await.text;
        assert!(page.contains("Unique key") && page.contains("job_amended"), "{page}");
        let before = server.read(&format!("{}?seq=1", path(&first, "replay"))).await;
        assert_eq!(before["payload"]["n"], 1);

        let first = server.create(job("postponed", 1)).await;
        assert!(first["run_at"].as_str() > first["created_at"].as_str(), "the first is delayed too");
        server.post("/api/jobs", &job("postponed", 2)).await.expect(200);
        assert_eq!(server.read(&path(&first, "")).await["payload"]["n"], 2);

        let first = server.create(job("cancelled", 1)).await;
        server.create(job("cancelled", 2)).await;
        assert_eq!(server.read(&path(&first, "")).await["state"], "cancelled");
        for outside in [json!({}), json!({ "k": null })] {
            let body = json!({ "type": "refused", "payload": outside });
            assert_eq!(server.create(body.clone()).await["flow"], json!({}));
            server.create(body).await;
        }
        for bad in [json!([1]), json!({ "x": 1 }), json!("x".repeat(201))] {
            let body = json!({ "type": "refused", "payload": { "k": bad } });
            server.post("/api/jobs", &body).await.problem_at(422, "validation_failed", "#/payload");
        }
    });
}

#[test]
fn a_batch_is_judged_item_by_item() {
    on_both_stores_with_config(CONFIG, async |server| {
        let jobs: Vec<Value> = (0..5).map(|n| job("refused", n)).collect();
        let answer = server.post("/api/jobs/batch", &json!({ "jobs": jobs })).await.expect(200);
        let codes: Vec<&Value> = rows(&answer["results"]).iter().map(|row| &row["error"]["code"]).collect();
        assert_eq!(
            codes,
            [
                &Value::Null,
                &json!("duplicate"),
                &json!("duplicate"),
                &json!("duplicate"),
                &json!("duplicate")
            ]
        );
        let jobs: Vec<Value> = (0..5).map(|n| job("replaced", n)).collect();
        let answer = server.post("/api/jobs/batch", &json!({ "jobs": jobs })).await.expect(200);
        let last = &answer["results"][4]["ok"];
        assert_eq!((&last["seq"], &last["payload"]["n"]), (&json!(5), &json!(4)));
    });
}

#[test]
fn another_users_job_is_not_revealed() {
    on_both_stores_with_config(CONFIG, async |mut server| {
        let [producer, _, _, _, admin] = create_keys(&mut server).await;
        let other = server.create_key("producer", Some("u2")).await;
        for kind in ["returned", "refused", "replaced", "cancelled"] {
            server.use_key(Some(&producer));
            let first = server.create(job(kind, 1)).await;
            server.use_key(Some(&other));
            let refused = server.post("/api/jobs", &job(kind, 2)).await.problem(409, "duplicate");
            assert_eq!(refused.get("job_id"), None, "{kind}");
            server.use_key(Some(&admin));
            assert_fields(&server.read(&path(&first, "")).await, json!({ "state": "queued", "seq": 1 }));
        }
    });
}

#[test]
fn another_users_job_is_not_changed_by_a_caller_that_may_only_read_it() {
    on_both_stores_with_config(CONFIG, async |mut server| {
        server.use_admin_key().await;
        let reader = json!({ "roles": ["viewer", "producer"], "user_id": "u1" });
        let reader = server.post("/api/keys", &reader).await.expect(201)["key"].as_str().unwrap().to_owned();
        for kind in ["replaced", "postponed", "cancelled"] {
            let first = server.create(merged(job(kind, 1), &json!({ "user_id": "u2" }))).await;
            let refused = server.post_as(&reader, "/api/jobs", &job(kind, 2)).await;
            assert_eq!(refused.problem(409, "duplicate")["job_id"], first["id"], "{kind}");
            assert_fields(
                &server.job(&first).await,
                json!({ "state": first["state"], "/payload/n": 1, "seq": 1 }),
            );
        }
        let older = json!({ "type": "replaced", "payload": { "k": "b" } });
        let own = server.post_as(&reader, "/api/jobs", &older).await.expect(202);
        let newer = json!({ "type": "replaced", "payload": { "k": "b", "n": 2 } });
        assert_eq!(server.post_as(&reader, "/api/jobs", &newer).await.expect(200)["id"], own["id"]);
        let foreign = server.create(merged(job("returned", 1), &json!({ "user_id": "u2" }))).await;
        let read = server.post_as(&reader, "/api/jobs", &job("returned", 2)).await.expect(200);
        assert_eq!(read["id"], foreign["id"], "it is only read");
    });
}

#[test]
fn a_job_that_no_worker_holds_can_be_amended() {
    on_both_stores_with_config(CONFIG, async |server| {
        let made = server.create(job("replaced", 1)).await;
        let far = "2126-01-02T03:04:05.678Z";
        let body = json!({ "payload": { "k": "b", "n": 9 }, "priority": -3, "run_at": far });
        let amended = amend(&server, &made, &body).await.expect(200);
        assert_fields(
            &amended,
            json!({ "seq": 2, "priority": -3, "run_at": far, "flow": { "unique": "b" } }),
        );
        assert_eq!(amend(&server, &made, &body).await.expect(200), amended, "equal values make no event");
        let waiting = server.create(job("replaced", 2)).await;
        server.call_ok(&waiting, "cancel", &json!({})).await;
        let stale = server.request("PATCH", &path(&made, "")).header("if-match", "1");
        let stale = stale.json(&json!({ "priority": 1 })).send().await.problem(412, "precondition_failed");
        assert_eq!(stale["seq"], 2);
        let fresh = server.request("PATCH", &path(&made, "")).header("if-match", "\"2\"");
        assert_eq!(fresh.json(&json!({ "priority": 1 })).send().await.expect(200)["seq"], 3);
        for body in [
            json!({}),
            json!({ "payload": null }),
            json!({ "priority": null }),
            json!({ "run_at": null }),
            json!({ "priority": 1.5 }),
            json!({ "queue": "other" }),
        ] {
            amend(&server, &made, &body).await.problem(400, "malformed");
        }
        amend(&server, &made, &json!({ "payload": { "n": "x" } })).await.problem(422, "validation_failed");
        amend(&server, &made, &json!({ "payload": { "n": -1 } })).await.problem(422, "guard_rejected");
        amend(&server, &made, &json!({ "payload": { "k": [] } })).await.problem(422, "validation_failed");
        let held = server.create_claimed(json!({ "type": "plain" })).await;
        let refused =
            amend(&server, &held, &json!({ "priority": 1 })).await.problem(409, "invalid_transition");
        assert_eq!(refused["trigger"], "amend");
        let amendments = server.metrics().await.sum("tenure_amendments_total", &["type=\"replaced\""]);
        assert_eq!(amendments, Some(2.0));
    });
}

#[test]
fn only_the_owner_and_operators_amend() {
    on_both_stores_with_config(CONFIG, async |mut server| {
        let [producer, worker, operator, viewer, admin] = create_keys(&mut server).await;
        let other = server.create_key("producer", Some("u2")).await;
        server.use_key(Some(&producer));
        let made = server.create(json!({ "type": "plain" })).await;
        for (n, key) in [(1, &producer), (2, &operator), (3, &admin)] {
            server.use_key(Some(key));
            assert_eq!(amend(&server, &made, &json!({ "priority": n })).await.expect(200)["priority"], n);
        }
        for key in [&worker, &viewer, &other] {
            server.use_key(Some(key));
            let status = amend(&server, &made, &json!({ "priority": 7 })).await.status;
            assert!([403, 404].contains(&status), "{status}");
        }
    });
}

#[tokio::test]
async fn concurrent_creations_on_three_nodes_create_one_job() {
    let setup = Setup::new(Store::Postgres).await.config(CONFIG);
    let nodes = [setup.clone().start().await, setup.clone().start().await, setup.clone().start().await];
    let one = async |caller: usize| {
        let reply = nodes[caller % 3].post("/api/jobs", &job("refused", caller as i64)).await;
        assert!([202, 409].contains(&reply.status), "{}", reply.text);
        usize::from(reply.status == 202)
    };
    let created: usize = futures_util::future::join_all((0..64).map(one)).await.into_iter().sum();
    assert_eq!(created, 1);
    let postponed = async |caller: usize| {
        let reply = nodes[caller % 3].post("/api/jobs", &job("postponed", caller as i64)).await;
        assert!([200, 202].contains(&reply.status), "{}", reply.text);
    };
    futures_util::future::join_all((0..64).map(postponed)).await;
    let jobs = nodes[0].rows("/api/jobs?type=postponed").await;
    assert_eq!((jobs.len(), &jobs[0]["seq"]), (1, &json!(64)), "the history has each of them");
    let last = nodes[1].events(&jobs[0]).await.pop().expect("it has events");
    assert_eq!(last["payload"]["payload"], jobs[0]["payload"], "the last wins");
    drop(nodes);
    setup.verify();
}

/// The recipes of docs/flow.md, as one configuration.
fn recipes() -> String {
    let page = include_str!("../../../../docs/flow.md");
    page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().expect("it ends")).collect()
}

#[test]
fn the_recipes_of_the_documentation_work() {
    on_both_stores_with_config(&recipes(), async |server| {
        let new = |kind: &str, n: i64| json!({ "type": kind, "payload": { "repo": "a", "document": "d", "report": "r", "n": n } });
        for (kind, second) in
            [("reindex", 200), ("debounced", 200), ("singleton", 409), ("latest", 202), ("hourly", 200)]
        {
            server.post("/api/jobs", &new(kind, 1)).await.expect(202);
            let reply = server.post("/api/jobs", &new(kind, 2)).await;
            assert_eq!(reply.status, second, "{kind}: {}", reply.text);
        }
    });
}

#[test]
fn the_recipes_for_claims_work() {
    on_both_stores_with_config(&recipes(), async |server| {
        // One claim of up to a hundred jobs of a type.
        let claim = async |kind: &str| {
            server.claim(json!({ "worker": "w1", "types": [kind], "max": 100, "start": true })).await
        };
        let create = async |kind: &str, payloads: &[Value]| {
            for payload in payloads {
                server.create(json!({ "type": kind, "payload": payload })).await;
            }
        };
        let [a, b] = ["a", "b"].map(|key| json!({ "customer": key, "repo": key, "order": key }));
        let (three, four) = ([a.clone(), a.clone(), b.clone()], [a.clone(), a.clone(), a.clone(), b.clone()]);
        create("import", &four).await;
        assert_eq!(claim("import").await.len(), 3, "two of one customer, and one of the other");
        server.create_many(12, json!({ "type": "report" })).await;
        assert_eq!(claim("report").await.len(), 10, "the global limit");
        create("sync", &three).await;
        assert_eq!(claim("sync").await.len(), 2, "one of each repository");
        create("order_event", &three).await;
        let events = claim("order_event").await;
        assert_eq!(events.len(), 2, "one of each order");
        let error = json!({ "error": { "class": "permanent", "code": "BROKEN", "message": "broken" } });
        server.report(&events[0], "fail", error).await.expect(200);
        assert_eq!(claim("order_event").await.len(), 1, "a failure does not stop the others");
        server.create_many(110, json!({ "type": "send_mail" })).await;
        let mails = claim("send_mail").await;
        assert_eq!(mails.len(), 100, "the burst");
        let pause = json!({ "pause": { "resource": "mail", "for": "1h" } });
        server.report(&mails[0], "release", pause).await.expect(200);
        let mail = server.get("/api/resources/mail").await.expect(200);
        assert!(mail["buckets"][0]["paused_until"].is_string(), "{mail}");
        assert!(claim("send_mail").await.is_empty(), "the upstream service asked for a pause");
        server.create_many(60, json!({ "type": "write_row" })).await;
        let rows = claim("write_row").await;
        let group = rows.iter().filter(|row| row["group"] == rows[0]["group"]).count();
        assert_eq!(group, 50, "a whole group");
    });
}

#[test]
fn the_recipes_for_users_work() {
    on_both_stores_with_config(&recipes(), async |server| {
        let export = json!({ "type": "export", "user_id": "u1" });
        server.create_many(1000, export.clone()).await;
        server.post("/api/jobs", &export).await.problem(429, "queue_full");
        server.create(merged(export, &json!({ "user_id": "u2" }))).await;
        for user in ["u1", "u1", "u1", "u2"] {
            server.create(json!({ "type": "import", "user_id": user, "queue": "fair" })).await;
        }
        let claim = json!({ "worker": "w1", "queues": ["fair"], "max": 2, "start": true });
        let users: Vec<Value> = server.claim(claim).await.iter().map(|job| job["user_id"].clone()).collect();
        assert_eq!(users, ["u1", "u2"], "users take turns");
    });
}

#[test]
fn every_recipe_is_executed() {
    let tested = [
        "reindex",
        "debounced",
        "singleton",
        "latest",
        "hourly",
        "import",
        "report",
        "sync",
        "order_event",
        "send_mail",
        "write_row",
        "export",
    ];
    let recipes = recipes();
    let types = recipes.lines().filter_map(|line| line.strip_prefix("[types.")?.strip_suffix(']'));
    // Examples of the reference above the recipes.
    let examples = ["summarize", "apply_change", "embed"];
    let missing: Vec<&str> =
        types.filter(|name| !tested.contains(name) && !examples.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
