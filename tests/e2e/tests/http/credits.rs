//! Credits to the last one: never overdrawn, settled or refunded exactly once, and counted again while the server runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tenure_e2e::{
    SeededRandom, Server, Setup, Store, column, eventually, http_client, on_both_stores_with_config, rows,
};
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

const CONFIG: &str = include_str!("fixtures/credits.toml");

async fn grant(server: &Server, user: &str, credits: u64) {
    let body = json!({ "grant": credits, "reason": "test" });
    server.post(&format!("/api/accounts/{user}/credits"), &body).await.expect(200);
}

/// Granted, reserved, spent, available.
async fn account(server: &Server, user: &str) -> [u64; 4] {
    let account = server.read(&format!("/api/accounts/{user}/credits")).await;
    ["granted", "reserved", "spent", "available"].map(|sum| account[sum].as_u64().unwrap())
}

/// By how many credits accounts and ledger disagree, as this node last saw it.
async fn imbalance(server: &Server) -> Option<u64> {
    let text = server.get("/metrics").await.text;
    let line = text.lines().find_map(|line| line.strip_prefix("tenure_credits_imbalance "))?;
    Some(line.parse().expect("a number"))
}

#[tokio::test]
async fn a_thousand_concurrent_creations_with_a_balance_of_a_hundred_make_a_hundred_jobs() {
    const CREATIONS: usize = 1000;
    for store in Store::ALL {
        // One connection carries them all: the bound is the server's and not the machine's.
        let http2 = || http_client().http2_prior_knowledge().build().unwrap();
        let setup = Setup::new(store).await.config(CONFIG).client(http2());
        let server = Arc::new(setup.clone().start().await);
        let mut nodes = vec![Arc::clone(&server)];
        if store == Store::Postgres {
            nodes.push(Arc::new(server.second_node().await));
        }
        grant(&server, "u1", 100).await;
        let mut asks = JoinSet::new();
        for n in 0..CREATIONS {
            let node = Arc::clone(&nodes[n % nodes.len()]);
            asks.spawn(async move {
                let body = json!({ "type": "cheap", "user_id": "u1", "payload": { "prompt": n } });
                node.post("/api/jobs", &body).await.status
            });
        }
        let mut statuses: BTreeMap<u16, usize> = BTreeMap::new();
        while let Some(status) = asks.join_next().await {
            *statuses.entry(status.unwrap()).or_default() += 1;
        }
        assert_eq!(statuses, BTreeMap::from([(202, 100), (402, CREATIONS - 100)]), "{store:?}");
        assert_eq!(account(&server, "u1").await, [100, 100, 0, 0]);
        let ledger = server.read("/api/accounts/u1/credits").await;
        let reserves = column(&ledger["ledger"], "kind").into_iter().filter(|kind| kind == "reserve").count();
        assert!(reserves > 0 && reserves <= 100, "{ledger}");
        drop((server, nodes));
        setup.verify();
    }
}

const JOBS: usize = 10_000;
const USERS: usize = 10;

/// What the accounts should be, by what was told to the server.
#[derive(Default)]
struct Books(BTreeMap<String, [u64; 2]>);

impl Books {
    /// Reserved and spent of a user.
    fn of(&mut self, job: &Value) -> (&mut [u64; 2], u64) {
        let cost = if job["type"] == "dear" { 7 } else { 1 };
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

/// Reports something about each of these jobs, by chance.
async fn report(server: &Server, jobs: &[Value], chance: &mut SeededRandom, books: &mut Books) {
    let mut told = |job: &Value| {
        let (verb, more) = match chance.below(10) {
            0..4 => ("succeed", json!({ "result": { "url": "x" } })),
            4..6 => ("reject", json!({ "reason": "unsafe" })),
            6..9 => ("fail", json!({ "error": { "code": "E" } })),
            _ => ("fail", json!({ "error": { "code": "E", "class": "permanent" } })),
        };
        let mut report = json!({ "job": job["id"], "fence": job["lease"]["fence"], "verb": verb });
        report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        report
    };
    let reports: Vec<Value> = jobs.iter().map(&mut told).collect();
    let body = json!({ "worker": "w1", "reports": reports });
    let answer = server.post("/api/reports", &body).await.expect(200);
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
            grant(&server, &format!("u{user}"), 5000).await;
        }
        for wave in 0..10 {
            let jobs = (0..JOBS / 10).map(|n| {
                let kind = if chance.below(4) == 0 { "dear" } else { "cheap" };
                let user = format!("u{}", chance.below(USERS));
                json!({ "type": kind, "user_id": user, "payload": { "prompt": wave * JOBS + n } })
            });
            let body = json!({ "jobs": jobs.collect::<Vec<_>>() });
            let made = server.post("/api/jobs/batch", &body).await.expect(200);
            for result in rows(&made["results"]) {
                assert!(result["ok"].is_object(), "everybody can pay: {result}");
                books.reserve(&result["ok"]);
            }
            let taken = server.claim(json!({ "worker": "w1", "max": 1000 })).await;
            report(&server, &taken, &mut chance, &mut books).await;
        }
        // Some are left waiting, so that there is something reserved at the end as well.
        let more = server.claim(json!({ "worker": "w1", "max": 500 })).await;
        report(&server, &more, &mut chance, &mut books).await;
        for (user, [reserved, spent]) in &books.0 {
            let expected = [5000, *reserved, *spent, 5000 - reserved - spent];
            assert_eq!(account(&server, user).await, expected, "{user}");
        }
        assert!(books.0.values().all(|[_, spent]| *spent > 0));
        let server = server.restart().await;
        assert_eq!(imbalance(&server).await, Some(0));
    });
}

/// Moves credits without a line in the ledger.
async fn embezzle(setup: &Setup) {
    const THEFT: &str = "update accounts set spent = spent + 5 where user_id = 'u1'";
    let [flag, place] = setup.store_flags();
    if flag == "--data" {
        let file = rusqlite::Connection::open(std::path::Path::new(&place).join("tenure.db")).unwrap();
        file.execute(THEFT, []).unwrap();
        return;
    }
    let (client, connection) = tokio_postgres::connect(&place, NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    client.batch_execute(THEFT).await.unwrap();
    drop(client);
    driver.await.unwrap().ok();
}

#[tokio::test]
async fn credits_missing_from_the_ledger_are_found_by_the_metric_and_by_verify() {
    for store in Store::ALL {
        let setup = Setup::new(store).await.config(CONFIG);
        let mut server = setup.clone().start().await;
        grant(&server, "u1", 20).await;
        assert_eq!(imbalance(&server).await, Some(0), "{store:?}");
        server.kill();
        setup.verify();
        embezzle(&setup).await;
        let server = server.restart().await;
        eventually("the difference is seen", async || imbalance(&server).await == Some(5)).await;
        assert!(server.logs().contains("accounts and ledger disagree"), "{}", server.logs());
        let told = setup.verify_output();
        assert_eq!(told.status.code(), Some(1), "{store:?}");
        assert!(String::from_utf8_lossy(&told.stdout).contains("account u1"), "{told:?}");
    }
}
