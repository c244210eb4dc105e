//! Jobs that applications request in their own PostgreSQL transactions.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_e2e::cli::{exit_code, transcript};
use tenure_e2e::{Server, Setup, Store, assert_fields, eventually, new_database, tenure};
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

const CONFIG: &str = r#"
[types.charge]
lifecycle = "distributed"
queue = "money"
schema = { type = "object", required = ["order"] }
guard = "payload.order > 0"
[types.paid]
lifecycle = "image"
cost = 2
[types.once]
lifecycle = "distributed"
unique = { key = "payload.n", on_conflict = "refuse" }
[types.merge]
lifecycle = "distributed"
unique = { key = "payload.customer" }
[types."*"]
lifecycle = "distributed"
"#;

/// A session of an application.
async fn application(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn server() -> (Server, Client) {
    let server = Setup::new(Store::Postgres).await.config(CONFIG).start().await;
    let client = application(server.setup().database_url().unwrap()).await;
    (server, client)
}

/// The id that a statement returns.
async fn id_of(client: &Client, sql: &str) -> String {
    let rows = client.simple_query(sql).await.unwrap();
    let id = rows.iter().find_map(|row| match row {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    id.expect("it returns an id")
}

async fn show(server: &Server, id: &str) -> Value {
    server.read(&format!("/api/jobs/{id}")).await
}

/// The job or request when it is no longer in the intake.
async fn judged(server: &Server, id: &str) -> Value {
    eventually("the request is taken in", async || show(server, id).await["phase"] != "intake").await;
    show(server, id).await
}

#[tokio::test]
async fn a_job_exists_if_and_only_if_the_transaction_commits() {
    let (server, client) = server().await;
    client.batch_execute("begin; create table orders (id int)").await.unwrap();
    let id =
        id_of(&client, "select tenure.enqueue('charge', '{\"order\": 42}', user_id => 'u1', priority => 3)")
            .await;
    assert_eq!(
        server.get(&format!("/api/jobs/{id}")).await.status,
        404,
        "nothing is visible before the commit"
    );
    client.batch_execute("commit").await.unwrap();
    let job = judged(&server, &id).await;
    let expected = json!({ "id": id, "type": "charge", "queue": "money", "user_id": "u1", "priority": 3, "phase": "ready" });
    assert_fields(&job, expected);
    assert_eq!(job["payload"], json!({ "order": 42 }));
    let events = server.events(&job).await;
    assert_eq!(events[0]["actor"], "sql:postgres");

    client.batch_execute("begin").await.unwrap();
    let gone = id_of(&client, "select tenure.enqueue('charge', '{\"order\": 43}')").await;
    client.batch_execute("rollback").await.unwrap();
    let next = id_of(&client, "select tenure.enqueue('charge', '{\"order\": 44}')").await;
    judged(&server, &next).await;
    assert_eq!(server.get(&format!("/api/jobs/{gone}")).await.status, 404);
    assert_eq!(server.list("").await.len(), 2);
    server.setup().verify();
}

#[tokio::test]
async fn a_refusal_becomes_a_record_an_event_and_a_metric() {
    let (server, client) = server().await;
    let bad =
        id_of(&client, "select tenure.enqueue('charge', '{}', user_id => 'u1', correlation_id => 'c')").await;
    let guarded = id_of(&client, "select tenure.enqueue('charge', '{\"order\": 0}')").await;
    let twice = id_of(&client, "select tenure.enqueue('free', '{\"a\": 1, \"a\": 2}')").await;
    let shown = judged(&server, &bad).await;
    let expected = json!({ "id": bad, "type": "charge", "queue": "money", "user_id": "u1", "correlation_id": "c", "state": null,
        "phase": "refused", "/problem/code": "validation_failed", "/problem/status": 422, "/problem/errors/0/pointer": "#/payload" });
    assert_fields(&shown, expected);
    assert!(shown["requested_at"].as_str() <= shown["refused_at"].as_str());
    assert_fields(&judged(&server, &guarded).await, json!({ "/problem/code": "guard_rejected" }));
    assert_fields(&judged(&server, &twice).await, json!({ "/problem/code": "validation_failed" }));

    let listed = server.list("phase=refused").await;
    let ids: Vec<_> = listed.iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [&twice, &guarded, &bad]);
    assert_eq!(server.list("phase=refused&user_id=u1").await.len(), 1);
    let journal = server.journal().await;
    let event = journal.iter().find(|event| event["job_id"] == bad.as_str()).unwrap();
    assert_fields(
        event,
        json!({ "type": "job_refused", "seq": null, "cause": "validation_failed", "actor": "sql:postgres" }),
    );
    let metrics = server.metrics().await;
    assert_eq!(metrics.sum("tenure_intake_refused_total", &["code=\"validation_failed\""]), Some(2.0));
    assert_eq!(metrics.sum("tenure_intake_oldest_seconds", &["database=\"store\""]), Some(0.0));
    server.setup().verify();
}

#[tokio::test]
async fn the_problem_of_a_refusal_is_that_of_the_same_call() {
    let (server, client) = server().await;
    let cases = [
        ("'charge', '{\"order\": 0}'", json!({ "type": "charge", "payload": { "order": 0 } })),
        ("'charge', '{}'", json!({ "type": "charge" })),
        ("'paid', user_id => 'poor'", json!({ "type": "paid", "user_id": "poor" })),
        ("'once', '{\"n\": 1}'", json!({ "type": "once", "payload": { "n": 1 } })),
    ];
    server.post("/api/jobs", &json!({ "type": "once", "payload": { "n": 1 } })).await.expect(202);
    for (arguments, body) in cases {
        let id = id_of(&client, &format!("select tenure.enqueue({arguments})")).await;
        let refused = judged(&server, &id).await;
        let same = server.post("/api/jobs", &body).await;
        let mut expected = same.body.clone();
        expected["instance"] = json!(format!("/api/jobs/{id}"));
        assert_eq!(refused["problem"], expected, "{arguments}");
    }
}

#[tokio::test]
async fn a_time_that_cannot_be_written_is_refused() {
    let (server, client) = server().await;
    for time in ["10000-01-01T00:00:00Z", "294276-01-01T00:00:00Z", "1969-12-31T23:59:59Z"] {
        let id = id_of(&client, &format!("select tenure.enqueue('free', run_at => '{time}')")).await;
        let expected =
            json!({ "/problem/code": "validation_failed", "/problem/errors/0/pointer": "#/run_at" });
        assert_fields(&judged(&server, &id).await, expected);
    }
}

/// A command of `tenure`, with its exit code.
fn run(server: &Server, arguments: &[&str]) -> (i32, String) {
    let output = std::process::Command::new(tenure())
        .args(arguments)
        .env("TENURE_URL", server.url())
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    (exit_code(&output), transcript(&output))
}

#[tokio::test]
async fn commands_show_requests_and_wait_for_their_jobs() {
    let (server, client) = server().await;
    let bad = id_of(&client, "select tenure.enqueue('charge', '{}', user_id => 'u1')").await;
    judged(&server, &bad).await;
    let bad = bad.as_str();
    for (arguments, expected) in [
        (&["job", "get", bad][..], "refused (request in SQL)"),
        (&["job", "get", &bad[..23]], "validation_failed"),
        (&["job", "list", "--phase", "refused"], "charge  refused"),
        (&["job", "list", "--phase", "refused", "-o", "name"], bad),
        (&["job", "get", bad, "-o", "json"], "\"phase\": \"refused\""),
    ] {
        let (exit, shown) = run(&server, arguments);
        assert!(exit == 0 && shown.contains(expected), "{arguments:?}: {shown}");
    }
    let (exit, shown) = run(&server, &["job", "wait", bad]);
    assert!(exit == 7 && shown.contains("tenure: validation_failed"), "{shown}");

    // A request that has waited for a long time: its id is older than its job.
    let id = "0198a0b1-c2d3-7000-8000-000000000001";
    let waited = format!(
        "insert into tenure.intake (kind, job, receipt, name) values ('enqueue', '{id}', '{id}', 'free')"
    );
    client.batch_execute(&format!("{waited}; select tenure.cancel('{id}')")).await.unwrap();
    let (exit, shown) = run(&server, &["job", "wait", id]);
    assert!(exit == 3 && shown.contains("cancelled"), "{shown}");
    let (exit, shown) = run(&server, &["job", "get", "0198a0b1"]);
    assert!(exit == 0 && shown.contains(id), "{shown}");
}

#[tokio::test]
async fn every_filter_counts_when_refusals_are_listed() {
    let (server, client) = server().await;
    let id = id_of(&client, "select tenure.enqueue('charge', '{}', queue => 'q1')").await;
    let refused_at = judged(&server, &id).await["refused_at"].as_str().unwrap().to_owned();
    let ids = async |filter: &str| {
        let listed = server.list(&format!("phase=refused&{filter}")).await;
        listed.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for filter in ["type=charge", "queue=q1", "lifecycle=distributed", "created_after=2020-01-01T00:00:00Z"]
        .map(str::to_owned)
    {
        assert_eq!(ids(&filter).await, [&*id], "{filter}");
    }
    let none = [
        "state=queued",
        "outcome=failed",
        "worker=w1",
        "queue=q2",
        "lifecycle=engine",
        "retry_of=019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00",
        "created_before=2020-01-01T00:00:00Z",
        &format!("created_after={refused_at}"),
    ];
    for filter in none {
        assert_eq!(ids(filter).await, Vec::<String>::new(), "{filter}");
    }
    server.get("/api/jobs?phase=refused&q=type:charge").await.problem(400, "malformed");
}

#[tokio::test]
async fn a_request_that_is_answered_with_another_job_is_merged() {
    let (server, client) = server().await;
    let keyed = "select tenure.enqueue('free', '{\"n\": 1}', idempotency_key => 'k')";
    let first = id_of(&client, keyed).await;
    let second = id_of(&client, keyed).await;
    assert_fields(&judged(&server, &first).await, json!({ "id": first, "phase": "ready" }));
    assert_fields(
        &judged(&server, &second).await,
        json!({ "id": second, "state": null, "phase": "merged", "job_id": first }),
    );
    let other = id_of(&client, "select tenure.enqueue('free', '{\"n\": 2}', idempotency_key => 'k')").await;
    assert_fields(&judged(&server, &other).await, json!({ "/problem/code": "idempotency_mismatch" }));
    // The same request by HTTP has the same key.
    let same = server.post_keyed("k", "/api/jobs", &json!({ "type": "free", "payload": { "n": 1 } })).await;
    assert_eq!(same.status, 200);
    let unique = "select tenure.enqueue('merge', '{\"customer\": \"c\"}')";
    let (first, second) = (id_of(&client, unique).await, id_of(&client, unique).await);
    assert_fields(&judged(&server, &second).await, json!({ "phase": "merged", "job_id": first }));
}

#[tokio::test]
async fn a_request_does_not_name_a_job_that_its_reader_may_not_see() {
    let (mut server, client) = server().await;
    let admin = server.use_admin_key().await;
    let producer = server.create_key("producer", Some("u1")).await;
    for (job_type, payload, phase) in
        [("merge", json!({ "customer": "c" }), "merged"), ("once", json!({ "n": 1 }), "refused")]
    {
        let other = server.create(json!({ "type": job_type, "payload": payload, "user_id": "u2" })).await;
        let request = format!("select tenure.enqueue('{job_type}', '{payload}', user_id => 'u1')");
        let id = id_of(&client, &request).await;
        assert_eq!(judged(&server, &id).await["phase"], phase);
        for (key, is_shown) in [(&producer, false), (&admin, true)] {
            let shown = server.get_as(key, &format!("/api/jobs/{id}")).await.expect(200);
            assert_eq!(shown["phase"], phase);
            assert_eq!(shown.to_string().contains(tenure_e2e::id(&other)), is_shown, "{shown}");
            let listed = server.get_as(key, "/api/jobs?phase=refused").await.expect(200);
            let names_it = listed.to_string().contains(tenure_e2e::id(&other));
            assert_eq!(names_it, is_shown && phase == "refused", "{listed}");
        }
    }
}

#[tokio::test]
async fn requests_of_a_transaction_are_judged_in_the_order_of_the_calls() {
    let (server, client) = server().await;
    let cancelled = "with new as (select tenure.enqueue('free') as id) select id, tenure.cancel(id, 'soft', 'no') from new";
    let id = id_of(&client, cancelled).await;
    assert_fields(&judged(&server, &id).await, json!({ "phase": "final", "outcome": "cancelled" }));
    client.batch_execute("begin").await.unwrap();
    let mut expected = Vec::new();
    for n in 0..600 {
        expected.push(id_of(&client, &format!("select tenure.enqueue('free', '{n}')")).await);
    }
    client.batch_execute("commit").await.unwrap();
    judged(&server, expected.last().unwrap()).await;
    let mut claimed = Vec::new();
    while claimed.len() < expected.len() {
        claimed.extend(server.claim(json!({ "worker": "w", "max": 100 })).await);
    }
    let claimed: Vec<_> = claimed.iter().map(|job| job["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(claimed, expected);
}

#[tokio::test]
async fn a_refused_cancel_or_signal_is_an_event_and_changes_nothing() {
    let (server, client) = server().await;
    let job = server.create(json!({ "type": "free" })).await;
    let id = job["id"].as_str().unwrap();
    let unknown = id_of(&client, "select tenure.new_id()").await;
    client
        .batch_execute(&format!("select tenure.signal('{id}', 'approve'); select tenure.cancel('{unknown}')"))
        .await
        .unwrap();
    let refused = async || {
        let journal = server.journal().await;
        journal.into_iter().filter(|event| event["type"] == "job_refused").collect::<Vec<_>>()
    };
    eventually("both are refused", async || refused().await.len() == 2).await;
    let events = refused().await;
    assert_fields(&events[0], json!({ "job_id": id, "cause": "invalid_transition", "seq": null }));
    assert_fields(&events[1], json!({ "job_id": unknown, "cause": "not_found", "seq": null }));
    assert_fields(&show(&server, id).await, json!({ "phase": "ready", "seq": 1 }));
    assert_eq!(server.get(&format!("/api/jobs/{unknown}")).await.status, 404);
    client.batch_execute(&format!("select tenure.cancel('{id}', 'hard', 'enough')")).await.unwrap();
    server.job_when(&job, "phase", "final").await;
    server.setup().verify();
}

#[tokio::test]
async fn wrong_shapes_are_refused_in_the_application() {
    let (_server, client) = server().await;
    let long = "x".repeat(201);
    for call in [
        "enqueue(null)".to_owned(),
        "enqueue('')".to_owned(),
        format!("enqueue('{}')", &long[..101]),
        "enqueue('a', idempotency_key => '')".to_owned(),
        "enqueue('a', idempotency_key => 'ü')".to_owned(),
        format!("enqueue('a', queue => '{}')", &long[..101]),
        "enqueue('a', queue => '')".to_owned(),
        format!("enqueue('a', user_id => '{long}')"),
        format!("enqueue('a', correlation_id => '{long}')"),
        "enqueue('a', to_json(repeat('x', 1048576)))".to_owned(),
        "cancel(null)".to_owned(),
        "cancel(gen_random_uuid(), 'gently')".to_owned(),
        "signal(gen_random_uuid(), null)".to_owned(),
        "signal(null, 'go')".to_owned(),
    ] {
        let refused = client.batch_execute(&format!("select tenure.{call}")).await.unwrap_err();
        assert_eq!(
            refused.code().map(|code| code.code().to_owned()).as_deref(),
            Some("22023"),
            "{call}: {refused:?}"
        );
    }
    client
        .batch_execute("select tenure.enqueue('a', null, null, null, null, null, null, null)")
        .await
        .unwrap();
}

#[tokio::test]
async fn a_producer_can_only_call_the_functions() {
    let (server, client) = server().await;
    let app = format!("app_{}", id_of(&client, "select tenure.new_id()").await.replace('-', ""));
    client.batch_execute(&format!("create role {app} login")).await.unwrap();
    let url = server.setup().database_url().unwrap().replacen("postgres@", &format!("{app}@"), 1);
    let denied = async |client: &Client, sql: &str| {
        let refused = client.batch_execute(sql).await.unwrap_err();
        assert_eq!(
            refused.code().map(|code| code.code().to_owned()).as_deref(),
            Some("42501"),
            "{sql}: {refused:?}"
        );
    };
    let producer = application(&url).await;
    denied(&producer, "select tenure.enqueue('free')").await;
    client.batch_execute(&format!("grant tenure_producer to {app}")).await.unwrap();
    let id = id_of(&producer, "select tenure.enqueue('free')").await;
    assert_eq!(server.events(&judged(&server, &id).await).await[0]["actor"], format!("sql:{app}"));
    for table in ["intake", "jobs", "events", "api_keys", "intake_records"] {
        denied(&producer, &format!("select * from tenure.{table}")).await;
        denied(&producer, &format!("delete from tenure.{table}")).await;
        denied(&producer, &format!("insert into tenure.{table} default values")).await;
    }
    denied(&producer, "select tenure.new_id()").await;
    denied(&producer, "create table tenure.mine (id int)").await;
    // Objects of the caller are not used by the functions.
    producer.batch_execute("create temp table intake (id int)").await.unwrap();
    id_of(&producer, "select tenure.enqueue('free')").await;
    assert_eq!(producer.query("select * from pg_temp.intake", &[]).await.unwrap().len(), 0);
}

/// Requests jobs in transactions of which some are rolled back; returns the committed ids.
async fn request_many(url: String, transactions: usize, producer: usize) -> Vec<String> {
    let client = application(&url).await;
    let mut committed = Vec::new();
    for n in 0..transactions {
        client.batch_execute("begin").await.unwrap();
        let id = id_of(&client, &format!("select tenure.enqueue('free', '[{producer}, {n}]')")).await;
        if n % 5 == 4 {
            client.batch_execute("rollback").await.unwrap();
        } else {
            client.batch_execute("commit").await.unwrap();
            committed.push(id);
        }
    }
    committed
}

#[tokio::test]
async fn every_committed_request_is_judged_once_although_nodes_are_killed() {
    let setup = Setup::new(Store::Postgres).await.config(CONFIG);
    let url = setup.database_url().unwrap().to_owned();
    let (mut first, second) = (setup.clone().start().await, setup.clone().start().await);
    let mut producers = JoinSet::new();
    for producer in 0..16 {
        producers.spawn(request_many(url.clone(), 125, producer));
    }
    // One node after the other is killed while requests arrive.
    for _ in 0..3 {
        let seen = second.list("limit=1").await.len();
        eventually("requests are taken in", async || second.list("limit=500").await.len() > seen).await;
        first.kill();
        first = setup.clone().start().await;
    }
    let committed: BTreeSet<String> = producers.join_all().await.into_iter().flatten().collect();
    assert_eq!(committed.len(), 1600);
    let all = async || second.all_pages("/api/jobs?limit=500", "jobs").await;
    eventually("all are taken in", async || all().await.len() >= committed.len()).await;
    let jobs = all().await;
    let jobs: Vec<String> = jobs.iter().map(|job| job["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(jobs.len(), committed.len());
    assert_eq!(jobs.into_iter().collect::<BTreeSet<_>>(), committed);
    setup.verify();
}

#[tokio::test]
async fn requests_wait_while_no_node_runs_and_a_late_commit_is_not_overlooked() {
    let (mut server, client) = server().await;
    let url = server.setup().database_url().unwrap().to_owned();
    let late = application(&url).await;
    late.batch_execute("begin").await.unwrap();
    let late_id = id_of(&late, "select tenure.enqueue('free', '\"late\"')").await;
    let early_id = id_of(&client, "select tenure.enqueue('free', '\"early\"')").await;
    judged(&server, &early_id).await;
    late.batch_execute("commit").await.unwrap();
    assert_eq!(judged(&server, &late_id).await["payload"], "late");
    server.kill();
    let waiting = id_of(&client, "select tenure.enqueue('free')").await;
    let server = server.restart().await;
    assert_eq!(judged(&server, &waiting).await["phase"], "ready");
}

#[tokio::test]
async fn requests_in_the_database_of_an_application_are_taken_in_once() {
    for store in Store::ALL {
        let shop = new_database().await;
        let install = std::process::Command::new(tenure())
            .args(["intake", "install", "--database-url", &shop])
            .output()
            .unwrap();
        assert!(install.status.success(), "{}", String::from_utf8_lossy(&install.stderr));
        let config = format!("{CONFIG}\n[[intake]]\ndatabase_url = '{shop}'\n");
        let setup = Setup::new(store).await.config(&config);
        let server = setup.clone().start().await;
        let client = application(&shop).await;
        let id = id_of(&client, "select tenure.enqueue('charge', '{\"order\": 1}')").await;
        let bad = id_of(&client, "select tenure.enqueue('charge', '{}')").await;
        for id in [&id, &bad] {
            let path = format!("/api/jobs/{id}");
            eventually("it is taken in", async || server.get(&path).await.status == 200).await;
        }
        assert_fields(&show(&server, &bad).await, json!({ "phase": "refused" }));
        client.batch_execute(&format!("select tenure.cancel('{id}')")).await.unwrap();
        eventually("it is cancelled", async || show(&server, &id).await["phase"] == "final").await;
        // As after a crash between the two commits.
        client
            .batch_execute(&format!(
                "insert into tenure.intake (kind, job, receipt, name, body) values ('enqueue', '{id}', '{id}', 'charge', '{{\"order\": 1}}'),
                 ('enqueue', '{bad}', '{bad}', 'charge', '{{}}')"
            ))
            .await
            .unwrap();
        let rows = async || client.query("select 1 from tenure.intake", &[]).await.unwrap();
        eventually("the rows are removed", async || rows().await.is_empty()).await;
        assert_eq!(server.list("").await.len(), 1);
        assert_eq!(server.list("phase=refused").await.len(), 1);
        let refusals = server.journal().await.iter().filter(|event| event["type"] == "job_refused").count();
        assert_eq!(refusals, 1);
        drop(server);
        setup.verify();
    }
}
