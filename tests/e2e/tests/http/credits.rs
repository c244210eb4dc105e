//! Credits: never overdrawn, settled or refunded exactly once, and checked against the ledger while the server runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tenure_e2e::*;
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

const PAID: &str = r#"
[types.paid]
lifecycle = "image"
cost = 2
backoff = { base = "0s", factor = 1.0, max = "0s", jitter = "none" }
max_attempts = 1
[types."*"]
lifecycle = "distributed"
"#;

const CONFIG: &str = include_str!("fixtures/credits.toml");

/// The difference between accounts and ledger that the metric shows.
async fn imbalance(server: &Server) -> Option<f64> {
    server.metrics().await.sum("tenure_credits_imbalance", &[])
}

/// The statuses of concurrent creations for one user.
async fn create_concurrently(nodes: &[Arc<Server>], kind: &'static str, creations: usize) -> Vec<u16> {
    let mut asks = JoinSet::new();
    for n in 0..creations {
        let node = Arc::clone(&nodes[n % nodes.len()]);
        let body = json!({ "type": kind, "user_id": "u1", "payload": { "prompt": n } });
        asks.spawn(async move { node.post("/api/jobs", &body).await.status });
    }
    let mut statuses = asks.join_all().await;
    statuses.sort_unstable();
    statuses
}

#[test]
fn a_thousand_concurrent_creations_with_a_balance_of_a_hundred_make_a_hundred_jobs() {
    // One HTTP/2 connection: the test must not run out of ports.
    let http2 = http_client().http2_prior_knowledge().build().unwrap();
    on_both_stores_with_setup(
        |setup| setup.config(CONFIG).client(http2.clone()),
        async |server| {
            server.grant("u1", 100).await;
            let nodes = server.with_second_node().await;
            let statuses = create_concurrently(&nodes, "cheap", 1000).await;
            assert_eq!(statuses, [[202; 100].as_slice(), [402; 900].as_slice()].concat());
            assert_eq!(nodes[0].account("u1").await, [100, 100, 0, 0]);
            let ledger = nodes[0].read("/api/accounts/u1/credits").await;
            let reserves =
                column(&ledger["ledger"], "kind").into_iter().filter(|kind| kind == "reserve").count();
            assert!(reserves > 0 && reserves <= 100, "{ledger}");
        },
    );
}

const JOBS: usize = 10_000;

const USERS: usize = 10;

/// The expected accounts, from the calls that were made.
#[derive(Default)]
struct Books(BTreeMap<String, [u64; 2]>);

impl Books {
    /// Reserved and spent of a user.
    fn of(&mut self, job: &Value) -> (&mut [u64; 2], u64) {
        let cost = if job["type"] == "expensive" { 7 } else { 1 };
        (self.0.entry(job["user_id"].as_str().unwrap().to_owned()).or_default(), cost)
    }

    fn reserve(&mut self, job: &Value) {
        let (sums, cost) = self.of(job);
        sums[0] += cost;
    }

    fn end(&mut self, job: &Value) {
        let (sums, cost) = self.of(job);
        match job["state"].as_str().unwrap() {
            "completed" | "rejected" => *sums = [sums[0] - cost, sums[1] + cost],
            "dead_letter" => sums[0] -= cost,
            _ => {}
        }
    }
}

/// Sends a random report on each of these jobs.
async fn report(server: &Server, jobs: &[Value], chance: &mut SeededRandom, books: &mut Books) {
    let mut told = |job: &Value| {
        let (verb, more) = match chance.below(10) {
            0..4 => ("succeed", json!({ "result": { "url": "x" } })),
            4..6 => ("reject", json!({ "reason": "unsafe" })),
            6..9 => ("fail", json!({ "error": { "code": "E" } })),
            _ => ("fail", json!({ "error": { "code": "E", "class": "permanent" } })),
        };
        merged(json!({ "job": job["id"], "fence": job["lease"]["fence"], "verb": verb }), &more)
    };
    let reports: Vec<Value> = jobs.iter().map(&mut told).collect();
    let answer = server.post_ok("/api/reports", &json!({ "worker": "w1", "reports": reports })).await;
    for result in rows(&answer["results"]) {
        assert!(result["ok"].is_object(), "{result}");
        books.end(&result["ok"]);
    }
}

#[test]
fn the_ledger_balances_after_ten_thousand_jobs_with_random_outcomes() {
    on_both_stores_with_config(CONFIG, async |server| {
        let (mut chance, mut books) = (SeededRandom::new(), Books::default());
        for user in 0..USERS {
            server.grant(&format!("u{user}"), 5000).await;
        }
        for wave in 0..10 {
            let jobs = (0..JOBS / 10).map(|n| {
                let kind = if chance.below(4) == 0 { "expensive" } else { "cheap" };
                let user = format!("u{}", chance.below(USERS));
                json!({ "type": kind, "user_id": user, "payload": { "prompt": wave * JOBS + n } })
            });
            let body = json!({ "jobs": jobs.collect::<Vec<_>>() });
            let created = server.post_ok("/api/jobs/batch", &body).await;
            for result in rows(&created["results"]) {
                assert!(result["ok"].is_object(), "every account has credits: {result}");
                books.reserve(&result["ok"]);
            }
            let claimed = server.claim(json!({ "worker": "w1", "max": 1000 })).await;
            report(&server, &claimed, &mut chance, &mut books).await;
        }
        // Some jobs stay open, so that credits are reserved at the end.
        let more = server.claim(json!({ "worker": "w1", "max": 500 })).await;
        report(&server, &more, &mut chance, &mut books).await;
        for (user, [reserved, spent]) in &books.0 {
            let expected = [5000, *reserved, *spent, 5000 - reserved - spent];
            assert_eq!(server.account(user).await, expected, "{user}");
        }
        assert!(books.0.values().all(|[_, spent]| *spent > 0));
        let server = server.restart().await;
        assert_eq!(imbalance(&server).await, Some(0.0));
    });
}

/// Changes an account without a ledger entry.
async fn change_account_without_ledger(setup: &Setup) {
    const CHANGE: &str = "update accounts set spent = spent + 5 where user_id = 'u1'";
    let Some(url) = setup.database_url() else {
        let file = rusqlite::Connection::open(setup.database_file()).unwrap();
        file.execute(CHANGE, []).unwrap();
        return;
    };
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    client.batch_execute(&format!("set search_path = tenure; {CHANGE}")).await.unwrap();
    drop(client);
    driver.await.unwrap().ok();
}

#[tokio::test]
async fn credits_missing_from_the_ledger_are_found_by_the_metric_and_by_verify() {
    for store in Store::ALL {
        let setup = Setup::new(store).await.config(CONFIG);
        let mut server = setup.clone().start().await;
        server.grant("u1", 20).await;
        assert_eq!(imbalance(&server).await, Some(0.0), "{store:?}");
        server.kill();
        setup.verify();
        change_account_without_ledger(&setup).await;
        let server = server.restart().await;
        eventually("the difference is seen", async || imbalance(&server).await == Some(5.0)).await;
        eventually("it is logged", async || server.logs().contains("accounts and ledger disagree")).await;
        let told = setup.verify_output();
        assert_eq!(told.status.code(), Some(1), "{store:?}");
        assert!(String::from_utf8_lossy(&told.stdout).contains("account u1"), "{told:?}");
    }
}

#[test]
fn credits_are_reserved_settled_and_refunded() {
    on_both_stores_with_config(PAID, async |server| {
        let account = "/api/accounts/u1/credits";
        let empty = server.read(account).await;
        assert_fields(&empty, json!({ "available": 0, "ledger": [] }));
        let paint = async |prompt: &str| {
            let body = json!({ "type": "paid", "user_id": "u1", "payload": { "prompt": prompt } });
            server.post("/api/jobs", &body).await
        };
        let problem = paint("a").await.problem(402, "insufficient_credits");
        assert_fields(&problem, json!({ "cost": 2, "available": 0 }));
        let granted = server.post_ok(account, &json!({ "grant": 5, "reason": "welcome" })).await;
        assert_fields(&granted, json!({ "granted": 5, "reserved": 0, "spent": 0, "available": 5 }));

        let job = paint("a").await.expect(202);
        assert_eq!(server.account("u1").await, [5, 2, 0, 3]);
        // The same prompt in the same minute is the same job, and costs nothing.
        assert_eq!(paint("a").await.expect_replay()["id"], job["id"]);
        let claimed = server.claim_one().await;
        server.report_ok(&claimed, "succeed", json!({ "result": { "url": "x" } })).await;
        assert_eq!(server.account("u1").await, [5, 0, 2, 3]);

        paint("b").await.expect(202);
        let short = paint("c").await.problem(402, "insufficient_credits");
        assert_eq!(short["available"], 1);
        let claimed = server.claim_one().await;
        let dead = server.report_ok(&claimed, "fail", json!({ "error": {} })).await;
        assert_eq!(dead["outcome"], "dead");
        assert_eq!(server.account("u1").await, [5, 0, 2, 3]);
        let account = server.read(account).await;
        assert_eq!(column(&account["ledger"], "kind"), ["grant", "reserve", "settle", "reserve", "refund"]);
        assert_eq!(column(&account["ledger"], "amount"), [5, 2, 2, 2, 2]);
        for line in rows(&account["ledger"]) {
            assert_field_names(line, "id ts kind amount job_id reason");
        }
        let expected = json!({ "/0/reason": "welcome", "/0/job_id": null, "/1/job_id": job["id"] });
        assert_fields(&account["ledger"], expected);
    });
}

#[test]
fn a_grant_is_idempotent_and_limited() {
    on_both_stores(async |server| {
        let body = json!({ "grant": 3, "reason": "r" });
        let grant = async || server.post_keyed("g", "/api/accounts/u/credits", &body).await;
        assert_eq!(grant().await.expect(200)["granted"], 3);
        assert_eq!(grant().await.expect(200)["granted"], 3);
        for bad in [r#"{"grant":0,"reason":""}"#, r#"{"grant":-1,"reason":""}"#, r#"{"grant":1.5}"#] {
            server.post_text("/api/accounts/u/credits", bad).await.problem(400, "malformed");
        }
        assert_eq!(server.read("/api/accounts/u/credits").await["granted"], 3);
    });
}

#[test]
fn credits_never_go_below_zero_under_concurrency() {
    on_both_stores_with_config(PAID, async |server| {
        server.grant("u1", 10).await;
        let nodes = [Arc::new(server)];
        let statuses = create_concurrently(&nodes, "paid", 20).await;
        assert_eq!(statuses, [[202; 5].as_slice(), [402; 15].as_slice()].concat());
        assert_eq!(nodes[0].read("/api/accounts/u1/credits").await["available"], 0);
    });
}
