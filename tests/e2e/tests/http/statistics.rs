//! Statistics over time: kept across restarts, added up over nodes, read by `GET /api/stats`.

use serde_json::{Value, json};
use tenure_core::statistics::{PeriodCounts, Series};
use tenure_e2e::*;

/// Jobs of a type `a` and a queue that were created, and how they ended.
async fn create_some(server: &Server, succeeded: usize, failed: usize) {
    for _ in 0..succeeded {
        server.create_finished(json!({ "type": "a" })).await;
    }
    for _ in 0..failed {
        let job = server.create_claimed(json!({ "type": "a" })).await;
        let error = json!({ "code": "E", "message": "broken", "class": "permanent" });
        server.report_ok(&job, "fail", json!({ "error": error })).await;
    }
}

fn figures(counts: &PeriodCounts) -> [u64; 5] {
    let PeriodCounts { created, finished, succeeded, failed_jobs, failed_attempts, .. } = *counts;
    [created, finished, succeeded, failed_jobs, failed_attempts]
}

#[test]
fn statistics_over_time_survive_restarts_and_count_once() {
    on_both_stores(async |mut server| {
        create_some(&server, 3, 1).await;
        assert!(server.terminate().await.success());
        let setup = server.setup().clone();
        assert_eq!(figures(&setup.sum_of_hours(Series::All).await), [4, 4, 3, 1, 1]);
        let mut server = server.restart().await;
        create_some(&server, 2, 0).await;
        assert!(server.terminate().await.success());
        for series in [Series::All, Series::Type("a".into())] {
            let sum = setup.sum_of_hours(series).await;
            assert_eq!(figures(&sum), [6, 6, 5, 1, 1]);
            let spans =
                |buckets: &mut dyn Iterator<Item = (u8, u64)>| buckets.map(|(_, count)| count).sum::<u64>();
            assert_eq!((spans(&mut sum.wait.buckets()), spans(&mut sum.run.buckets())), (6, 6));
        }
        let queue = setup.sum_of_hours(Series::Queue("default".into())).await;
        assert_eq!((queue.became_ready, queue.left_ready), (6, 6));
    });
}

#[tokio::test]
async fn the_statistics_of_several_nodes_add_up() {
    let mut one = Server::with("", Store::Postgres).await;
    let mut two = one.second_node().await;
    create_some(&one, 2, 0).await;
    create_some(&two, 3, 1).await;
    assert!(two.terminate().await.success());
    assert!(one.terminate().await.success());
    assert_eq!(figures(&one.setup().sum_of_hours(Series::All).await), [6, 6, 5, 1, 1]);
}

/// Every ten minutes for two days: today twice as many jobs as yesterday.
fn two_days() -> Vec<PastMinute> {
    let counts = |created: u64, bucket: u8| {
        let mut counts = PeriodCounts {
            created,
            finished: created,
            succeeded: created - 1,
            failed_jobs: 1,
            failed_attempts: 2,
            backlog: created * 3,
            ..PeriodCounts::default()
        };
        counts.wait.count(bucket, created);
        counts
    };
    let minute = |n: i64| {
        let counts = if n < 144 { counts(20, 40) } else { counts(10, 44) };
        let queue = PeriodCounts { became_ready: 5, left_ready: 4, backlog: 9, ..PeriodCounts::default() };
        PastMinute {
            minutes_ago: 2 + n * 10,
            counts: vec![
                (Series::All, counts.clone()),
                (Series::Type("mail".into()), counts),
                (Series::Queue("default".into()), queue),
            ],
        }
    };
    (0..300).map(minute).collect()
}

async fn history(server: &Server, query: &str) -> Value {
    let mut stats = server.read(&format!("/api/stats{query}")).await;
    stats["history"].take()
}

#[tokio::test]
async fn a_range_is_compared_with_the_period_before() {
    for store in Store::ALL {
        let setup = Setup::new(store).await;
        setup.add_past(two_days()).await;
        let server = setup.start().await;
        assert_eq!(history(&server, "").await, json!(null));
        let day = history(&server, "?range=24h").await;
        assert_fields(&day, json!({ "type": null, "queue": null, "step_ms": 900_000 }));
        assert_eq!(rows(&day["current"]["steps"]).len(), 96);
        assert_eq!(day["current"]["from"], day["previous"]["until"]);
        // The end is the last full quarter of an hour: of two times near the limits, one is on either side.
        let is_near = |value: &Value, expected: u64| {
            let value = value.as_u64().unwrap();
            assert!(value.abs_diff(expected) <= 30, "{value} is not about {expected}");
        };
        is_near(&day["current"]["totals"]["created"], 144 * 20);
        is_near(&day["previous"]["totals"]["created"], 144 * 10);
        assert_eq!(day["current"]["totals"]["backlog"], 60);
        assert!(day["current"]["totals"]["failure_rate"].as_f64().unwrap() > 0.049);
        assert!(day["current"]["totals"]["wait_ms"]["p95"].is_u64());
        let sum: u64 =
            rows(&day["current"]["steps"]).iter().map(|step| step["created"].as_u64().unwrap()).sum();
        assert_eq!(day["current"]["totals"]["created"], sum);
        for (query, steps, step_ms) in [("1h", 60, 60_000), ("6h", 72, 300_000), ("7d", 168, 3_600_000)] {
            let it = history(&server, &format!("?range={query}")).await;
            assert_eq!((rows(&it["current"]["steps"]).len(), &it["step_ms"]), (steps, &json!(step_ms)));
            assert_eq!(it["previous"].is_null(), query == "7d", "statistics begin 50 hours ago");
        }
        let of_type = history(&server, "?type=mail&range=24h").await;
        assert_eq!((&of_type["type"], &of_type["current"]), (&json!("mail"), &day["current"]));
        let other = history(&server, "?type=other").await;
        assert_eq!((&other["step_ms"], &other["current"]["totals"]["created"]), (&json!(60_000), &json!(0)));
        let queue = history(&server, "?queue=default&range=6h").await;
        assert_fields(
            &queue["current"]["totals"],
            json!({ "became_ready": 180, "left_ready": 144, "backlog": 9 }),
        );
        // A custom range: two hours of yesterday.
        let hour_ago = |hours: i64| {
            let now = millis(&day["current"]["until"]);
            tenure_core::time::Timestamp(now - hours * 3_600_000).to_string()
        };
        let custom = format!("?from={}&until={}", hour_ago(30), hour_ago(28));
        let custom = history(&server, &custom).await;
        assert_eq!((&custom["step_ms"], &custom["current"]["from"]), (&json!(300_000), &json!(hour_ago(30))));
        assert_eq!(custom["current"]["totals"]["created"], 120);
        for bad in [
            "range=2h",
            "range=1h&from=2026-01-01T00:00:00Z",
            "until=2026-01-01T00:00:00Z",
            "type=a&queue=b",
            "zone=utc",
            "from=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z",
            "from=yesterday",
        ] {
            assert_eq!(server.get(&format!("/api/stats?{bad}")).await.status, 400, "{bad}");
        }
    }
}
