//! Schedules: their calls, missed runs, and one job per run on several nodes.

use rusqlite::Connection;
use serde_json::{Value, json};
use tenure_core::time::Timestamp;
use tenure_e2e::*;
use tokio_postgres::NoTls;

const SCHEDULE: &str = "id cron timezone job misfire overlap paused created_at created_by next_at last_at last_job \
                        last_error describe next_times";

fn nightly() -> Value {
    json!({ "id": "nightly", "cron": "30 2 * * *", "timezone": "Europe/Berlin", "job": { "type": "index" } })
}

#[test]
fn a_schedule_is_created_listed_paused_and_deleted() {
    on_both_stores(async |server| {
        let created = server.post("/api/schedules", &nightly()).await;
        assert_eq!(created.header("location"), Some("/api/schedules/nightly"));
        let created = created.expect(201);
        assert_field_names(&created, SCHEDULE);
        assert_fields(&created, json!({ "misfire": "once", "overlap": "allow", "paused": false }));
        assert_fields(&created, json!({ "last_job": null, "/job/payload": {} }));
        let times = rows(&created["next_times"]);
        assert_eq!((times.len(), &times[0]), (5, &created["next_at"]));
        assert!(created["describe"].as_str().is_some_and(|words| words.contains('2')), "{created}");

        assert_eq!(server.post("/api/schedules", &nightly()).await.expect_replay()["id"], "nightly");
        let mut other = nightly();
        other["cron"] = json!("0 3 * * *");
        server.post("/api/schedules", &other).await.problem(422, "validation_failed");
        assert_eq!(server.read("/api/schedules/nightly").await, created);
        let page = server.read("/api/schedules").await;
        assert_eq!(field_names(&page), ["next_cursor", "schedules"]);
        assert_eq!(page["schedules"], json!([created]));

        let paused = server.post_ok("/api/schedules/nightly/pause", &json!({})).await;
        assert_fields(&paused, json!({ "paused": true, "next_at": null, "next_times": [] }));
        let resumed = server.post_ok("/api/schedules/nightly/resume", &json!({})).await;
        assert_eq!(resumed["next_times"], created["next_times"]);
        assert_eq!(server.delete("/api/schedules/nightly").await.expect(200)["id"], "nightly");
        for call in ["/pause", "/resume"] {
            server.post(&format!("/api/schedules/nightly{call}"), &json!({})).await.problem(404, "not_found");
        }
        server.get("/api/schedules/nightly").await.problem(404, "not_found");
        server.delete("/api/schedules/nightly").await.problem(404, "not_found");
        let did = ["schedule_create", "schedule_pause", "schedule_resume", "schedule_remove"];
        assert_eq!(server.column("/api/audit", "action").await, did);
    });
}

#[test]
fn a_repeated_pause_or_resume_of_a_schedule_with_its_key_changes_nothing() {
    on_both_stores(async |server| {
        server.post("/api/schedules", &nightly()).await.expect(201);
        let keyed = async |call: &str| {
            server.post_keyed(call, &format!("/api/schedules/nightly/{call}"), &json!({})).await.expect(200)
        };
        assert_eq!(keyed("pause").await["paused"], true);
        assert_eq!(keyed("resume").await["paused"], false);
        assert_eq!(keyed("pause").await["paused"], false, "it answers the schedule, and pauses nothing");
        server.post_ok("/api/schedules/nightly/pause", &json!({})).await;
        assert_eq!(keyed("resume").await["paused"], true);
    });
}

#[test]
fn a_schedule_is_replaced_and_its_history_stays() {
    on_both_stores(async |server| {
        let created = server.post("/api/schedules", &nightly()).await.expect(201);
        server.post("/api/schedules/nightly/run", &json!({})).await.expect(202);
        let job = server.rows("/api/jobs").await.remove(0);
        let body =
            json!({ "cron": "0 4 * * *", "job": { "type": "report", "priority": 3 }, "overlap": "skip" });
        let replaced = server.request("PUT", "/api/schedules/nightly").json(&body).send().await.expect(200);
        assert_fields(&replaced, json!({ "cron": "0 4 * * *", "timezone": "UTC", "overlap": "skip" }));
        assert_fields(&replaced, json!({ "/job/type": "report", "/job/priority": 3, "last_job": job["id"] }));
        assert_eq!(replaced["created_at"], created["created_at"]);
        assert_ne!(replaced["next_at"], created["next_at"]);
        assert_eq!(server.read("/api/schedules/nightly").await, replaced);
        // A paused schedule stays paused.
        server.post_ok("/api/schedules/nightly/pause", &json!({})).await;
        let again = server.request("PUT", "/api/schedules/nightly").json(&nightly()).send().await.expect(200);
        assert_fields(&again, json!({ "paused": true, "next_at": null, "cron": "30 2 * * *" }));

        let put = async |path: &str, change: Value| {
            server.request("PUT", path).json(&merged(body.clone(), &change)).send().await
        };
        put("/api/schedules/other", json!({})).await.problem(404, "not_found");
        put("/api/schedules/nightly", json!({ "id": "b" })).await.problem_at(400, "malformed", "#/id");
        put("/api/schedules/nightly", json!({ "cron": "0 0 30 2 *" })).await.problem_at(
            422,
            "validation_failed",
            "#/cron",
        );
        assert_eq!(server.read("/api/schedules/nightly").await["cron"], "30 2 * * *");
    });
}

#[test]
fn a_schedule_runs_now_and_keeps_its_times() {
    on_both_stores(async |server| {
        let created = server.post("/api/schedules", &merged(nightly(), &json!({ "overlap": "skip" }))).await;
        let created = created.expect(201);
        let run = server.post_keyed("k", "/api/schedules/nightly/run", &json!({})).await;
        let job = run.expect(202);
        assert_fields(&job, json!({ "type": "index", "state": "queued" }));
        assert!(job["correlation_id"].as_str().is_some_and(|it| it.starts_with("nightly@")), "{job}");
        assert_eq!(server.events(&job).await[0]["actor"], "admin:open");
        let schedule = server.read("/api/schedules/nightly").await;
        assert_eq!((&schedule["last_job"], &schedule["next_at"]), (&job["id"], &created["next_at"]));
        assert_eq!(schedule["last_at"], Value::Null);
        // The same key answers the same job; for another schedule it is another request.
        let again = server.post_keyed("k", "/api/schedules/nightly/run", &json!({})).await;
        assert_eq!(again.expect_replay()["id"], job["id"]);
        server.post("/api/schedules", &merged(nightly(), &json!({ "id": "other" }))).await.expect(201);
        server
            .post_keyed("k", "/api/schedules/other/run", &json!({}))
            .await
            .problem(422, "idempotency_mismatch");
        // It does not overlap.
        let refused = server.post("/api/schedules/nightly/run", &json!({})).await;
        refused.problem(422, "validation_failed");
        let claimed = server.claim_one().await;
        server.succeed(&claimed).await;
        // A paused schedule can be run, too.
        server.post_ok("/api/schedules/nightly/pause", &json!({})).await;
        server.post("/api/schedules/nightly/run", &json!({})).await.expect(202);
        server.post("/api/schedules/gone/run", &json!({})).await.problem(404, "not_found");
        let ran = server.rows("/api/audit").await.into_iter().filter(|line| line["action"] == "schedule_run");
        assert_eq!(ran.map(|line| line["reason"].clone()).collect::<Vec<_>>(), ["nightly", "nightly"]);
    });
}

#[test]
fn creating_a_schedule_is_idempotent_with_a_key() {
    on_both_stores(async |server| {
        let ask = async |cron: &str| {
            let body = json!({ "cron": cron, "job": { "type": "a" } });
            server.post_keyed("k", "/api/schedules", &body).await
        };
        let first = ask("0 0 1 1 *").await.expect(201);
        assert_eq!(ask("0 0 1 1 *").await.expect(200)["id"], first["id"]);
        ask("0 0 2 1 *").await.problem(422, "idempotency_mismatch");
        assert_eq!(server.rows("/api/schedules").await.len(), 1);
    });
}

#[test]
fn a_schedule_that_never_fires_is_refused_with_its_position() {
    on_both_stores(async |server| {
        let create = async |change: Value| server.post("/api/schedules", &merged(nightly(), &change)).await;
        let long = format!("{} * * * *", "1,".repeat(2500));
        for cron in ["0 0 30 2 *", "0 0 0 * * *", &long, "99 * * * *"] {
            create(json!({ "cron": cron })).await.problem_at(422, "validation_failed", "#/cron");
        }
        create(json!({ "timezone": "Middle/Earth" })).await.problem_at(
            422,
            "validation_failed",
            "#/timezone",
        );
        for (change, pointer) in [
            (json!({ "id": "a b" }), "#/id"),
            (json!({ "id": "" }), "#/id"),
            (json!({ "job": { "type": "a", "priority": 2_000_000_000 } }), "#/job/priority"),
            (json!({ "job": { "type": "a", "delay": "1s" } }), "#/job"),
            (json!({ "colour": "red" }), ""),
            (json!({ "misfire": "never" }), ""),
        ] {
            let problem = create(change).await.problem(400, "malformed");
            let location = problem["errors"][0]["pointer"].as_str().unwrap();
            assert!(location.starts_with(pointer), "{problem}");
        }
        assert_eq!(server.read("/api/schedules").await["schedules"], json!([]));
    });
}

/// Sets the next time of a schedule back, as if no node had run since.
async fn put_back(server: &Server, minutes: i64) -> Timestamp {
    let moved = |body: &str| {
        let mut body: Value = serde_json::from_str(body).unwrap();
        let next = Timestamp::parse(body["schedule"]["next_at"].as_str().unwrap()).unwrap();
        let back = Timestamp(next.0 - minutes * 60_000);
        body["schedule"]["next_at"] = json!(back);
        (back, body.to_string())
    };
    let Some(url) = server.setup().database_url() else {
        let file = Connection::open(server.setup().database_file()).unwrap();
        let body: String = file.query_row("select body from orders", [], |row| row.get(0)).unwrap();
        let (back, body) = moved(&body);
        file.execute("update orders set due_at = ?1, body = ?2", (back.0, body)).unwrap();
        return back;
    };
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    client.batch_execute("begin; set local search_path = tenure").await.unwrap();
    let row = client.query_one("select body from orders for update", &[]).await.unwrap();
    let (back, body) = moved(row.get(0));
    client.execute("update orders set due_at = $1, body = $2", &[&back.0, &body]).await.unwrap();
    client.batch_execute("commit").await.unwrap();
    drop(client);
    driver.await.unwrap().ok();
    back
}

/// Waits until the next time of the schedule is not earlier than this.
async fn continues_after(server: &Server, time: i64) {
    let next = async || millis(&server.read("/api/schedules/s").await["next_at"]);
    eventually("the schedule continues", async || next().await >= time).await;
}

/// The times for which a schedule has created jobs, oldest first.
async fn times(server: &Server) -> Vec<String> {
    let ids = server.column("/api/jobs?limit=500", "correlation_id").await;
    let time = |id: &Value| id.as_str().unwrap().split_once('@').unwrap().1.to_owned();
    let mut times: Vec<String> = ids.iter().map(time).collect();
    times.sort();
    times
}

#[tokio::test]
async fn missed_runs_are_caught_up_by_the_policy_of_the_schedule() {
    for store in Store::ALL {
        for (misfire, created) in [("all", 20), ("once", 1), ("skip", 0)] {
            let mut server = Server::with("", store).await;
            let body = json!({ "id": "s", "cron": "0 * * * *", "misfire": misfire, "job": { "type": "a", "payload": 7 } });
            server.post("/api/schedules", &body).await.expect(201);
            server.kill();
            let back = put_back(&server, 20 * 60).await;
            let server = server.restart().await;
            continues_after(&server, back.0 + 20 * 3_600_000).await;
            let times = times(&server).await;
            // The next hour may have begun meanwhile.
            assert!(times.len() == created || times.len() == created + 1, "{store:?} {misfire}: {times:?}");
            let schedule = server.read("/api/schedules/s").await;
            assert_eq!(schedule["last_error"], Value::Null);
            if created > 0 {
                let last = server.job(&json!({ "id": schedule["last_job"] })).await;
                assert_fields(&last, json!({ "payload": 7, "type": "a" }));
                assert_eq!(server.events(&last).await[0]["actor"], "schedule:s");
            }
        }
    }
}

#[tokio::test]
async fn two_nodes_create_one_job_per_run() {
    let one = Server::postgres().await;
    let two = one.second_node().await;
    let body = json!({ "id": "s", "cron": "* * * * *", "misfire": "all", "job": { "type": "a" } });
    let schedule = one.post("/api/schedules", &body).await.expect(201);
    let since = schedule["created_at"].as_str().unwrap().to_owned();
    // Two nodes race for each of these times; earlier times can only come from this test.
    let back = put_back(&one, 90).await;
    continues_after(&two, back.0 + 90 * 60_000).await;
    let mut created = times(&one).await;
    created.retain(|time| Timestamp::parse(time).unwrap() < Timestamp::parse(&since).unwrap());
    assert!((89..=90).contains(&created.len()), "{created:?}");
    let all = created.len();
    created.dedup();
    assert_eq!(created.len(), all, "no time came twice");
    one.setup().verify();
}
