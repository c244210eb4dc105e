//! What changed: configurations and lifecycle versions in the audit log, and the time line of the dashboard.

use serde_json::{Value, json};
use tenure_core::lifecycle::BUILT_IN;
use tenure_core::statistics::{PeriodCounts, Series};
use tenure_e2e::*;

fn config(attempts: u32) -> String {
    format!("[types.import]\nlifecycle = \"distributed\"\nmax_attempts = {attempts}\n")
}

async fn lines(server: &Server, action: &str) -> Vec<Value> {
    let lines = server.rows("/api/audit?limit=500").await;
    lines.into_iter().filter(|line| line["action"] == action).collect()
}

async fn page(server: &Server, path: &str) -> String {
    let reply = server.request("GET", path).header("accept", "text/html").send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.text
}

#[test]
fn a_changed_configuration_is_recorded_once_with_the_values_before_and_after() {
    on_both_stores_with_config(&config(3), async |server| {
        assert!(lines(&server, "configure").await.is_empty(), "the first start is no change");
        let server = server.restart().await;
        assert!(lines(&server, "configure").await.is_empty(), "a restart alone changes nothing");
        server.reload_with(&[("tenure.toml", config(1).as_str())]).await;
        let changed = lines(&server, "configure").await;
        assert_eq!((changed.len(), &changed[0]["reason"]), (1, &json!("types.import.max_attempts")));
        let name = "types.import.max_attempts";
        assert_eq!(
            (&changed[0]["details"]["before"][name], &changed[0]["details"]["after"][name]),
            (&json!("3"), &json!("1"))
        );
        std::fs::write(server.setup().path("tenure.toml"), config(2)).unwrap();
        let server = server.restart().await;
        let changed = lines(&server, "configure").await;
        assert_eq!((changed.len(), &changed[1]["details"]["before"]), (2, &json!({ name: "1" })));
    });
}

#[test]
fn a_new_version_of_a_lifecycle_is_recorded() {
    on_both_stores(async |server| {
        assert!(lines(&server, "lifecycle_register").await.is_empty(), "the first start is no change");
        let second = BUILT_IN[0].replacen("version = 1", "version = 2", 1);
        let config = "lifecycles = [\"second.toml\"]\n[types.\"*\"]\nlifecycle = \"distributed\"\n";
        server.reload_with(&[("second.toml", second.as_str()), ("tenure.toml", config)]).await;
        let found = lines(&server, "lifecycle_register").await;
        assert_eq!(found.len(), 1, "{}", server.logs());
        assert_fields(&found[0], json!({ "reason": "distributed v2", "actor": "runtime" }));
        assert!(page(&server, "/ui/changes").await.contains("distributed v2"));
    });
}

#[tokio::test]
async fn many_jobs_are_compared_by_the_statistics() {
    for store in Store::ALL {
        let setup = Setup::new(store).await;
        let minute = |minutes_ago: i64| {
            let failed = if minutes_ago < 12 { 250 } else { 0 };
            let mut counts = PeriodCounts {
                created: 1000,
                finished: 1000,
                succeeded: 1000 - failed,
                failed_jobs: failed,
                ..PeriodCounts::default()
            };
            counts.wait.count(40, 1000);
            PastMinute { minutes_ago, counts: vec![(Series::Type("mail".into()), counts)] }
        };
        setup.add_past((2..30).map(minute).collect()).await;
        setup.add_past_action(12, "pause", "bulk").await;
        let server = setup.config("[types.mail]\nlifecycle = \"distributed\"\n").start().await;
        let paused = lines(&server, "pause").await.remove(0);
        let shown = page(&server, &format!("/ui/changes?change=audit-{}&window=10m", paused["id"])).await;
        for piece in ["Counted in periods of 1 m", "10,000 → 10,000", "↑ 0.0 % → 25.0 %"] {
            assert!(shown.contains(piece), "{piece} is not in {shown}");
        }
    }
}

#[test]
fn a_change_is_compared_by_the_jobs_before_and_after_it() {
    on_both_stores_with_config(&config(3), async |server| {
        for _ in 0..6 {
            server.create_finished(json!({ "type": "import" })).await;
        }
        server.post_ok("/api/queues/default/pause", &json!({})).await;
        server.post_ok("/api/queues/default/resume", &json!({})).await;
        server.reload_with(&[("tenure.toml", config(1).as_str())]).await;
        for _ in 0..6 {
            let job = server.create_claimed(json!({ "type": "import" })).await;
            server.report_ok(&job, "fail", json!({ "error": { "code": "E", "message": "no" } })).await;
        }
        for _ in 0..3 {
            let job = server.create(json!({ "type": "import" })).await;
            server.call_ok(&job, "cancel", &json!({})).await;
        }
        let shown = page(&server, "/ui/changes").await;
        for piece in [
            "Before and after: Configuration types.import.max_attempts",
            "6 → 9",
            "↑ 0.0 % → 100.0 %",
            "pause default",
            "resume default",
            "cancel 3 jobs",
            "started, Tenure",
        ] {
            assert!(shown.contains(piece), "{piece} is not in {shown}");
        }
        let paused = lines(&server, "pause").await.remove(0);
        let shown = page(&server, &format!("/ui/changes?change=audit-{}&window=10m", paused["id"])).await;
        assert!(
            shown.contains("Before and after: Pause pause default") && shown.contains("6 → 9"),
            "{shown}"
        );
        let deploys = page(&server, "/ui/changes?deploys=true").await;
        assert!(deploys.contains("first recorded") && !deploys.contains("pause default"), "{deploys}");
        let gone = page(&server, "/ui/changes?change=audit-999").await;
        assert!(gone.contains("no longer on the time line"), "{gone}");
        let wrong =
            server.request("GET", "/ui/changes?window=soon").header("accept", "text/html").send().await;
        assert_eq!(wrong.status, 400);
    });
}
