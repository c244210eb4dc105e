//! The map of a lifecycle at an earlier minute, in the dashboard.

use serde_json::json;
use tenure_e2e::*;

async fn page(server: &Server, at: &str) -> Reply {
    let path = format!("/ui/lifecycles/distributed?at={at}");
    server.request("GET", &path).header("accept", "text/html").send().await
}

/// State, jobs then, jobs now and the difference, as they are shown.
fn row<'p>(page: &'p str, state: &str) -> Vec<&'p str> {
    let (_, rows) = page.split_once("Unfinished jobs by state, then and now").expect("there is a table");
    let (_, rest) = rows.split_once(&format!("state={state}\"")).expect("the state has a row");
    let cells = rest.split("</tr>").next().unwrap().split("<td class=\"number\"").skip(1);
    cells.map(|cell| cell.split_once('>').unwrap().1.split('<').next().unwrap()).collect()
}

#[test]
fn a_minute_before_the_first_job_has_none() {
    on_both_stores(async |server| {
        let begun = tenure_core::time::Timestamp::parse(
            server.create(json!({ "type": "a" })).await["created_at"].as_str().unwrap(),
        );
        server.create_many(2, json!({ "type": "a" })).await;
        server.claim_one().await;
        server.create_finished(json!({ "type": "a", "priority": 1 })).await;
        let seconds = begun.unwrap().0 / 1000;
        let shown = page(&server, &seconds.to_string()).await;
        assert_eq!(shown.status, 200, "{}", shown.text);
        assert_eq!(row(&shown.text, "queued"), ["0", "2", "+2"]);
        assert_eq!(row(&shown.text, "running"), ["0", "1", "+1"]);
        assert!(shown.text.contains("which are all of it"), "{}", shown.text);
        // New events are followed.
        server.claim_one().await;
        let shown = page(&server, &seconds.to_string()).await;
        assert_eq!(row(&shown.text, "running"), ["0", "2", "+2"]);
        // A time out of reach is the nearest one within.
        for at in ["2020-01-01T00:00:00Z", "2400-01-01T00:00:00Z"] {
            assert_eq!(page(&server, at).await.status, 200, "{at}");
        }
        assert_eq!(page(&server, "yesterday").await.status, 400);
    });
}
