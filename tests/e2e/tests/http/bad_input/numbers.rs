//! Numbers that readers cannot represent.

use serde_json::json;
use tenure_e2e::on_both_stores_with_config;

use super::{CONFIG, Jobs, Row, malformed, prepare, refuse_all};

/// Every call that stores JSON of its caller about one job. JSON stands for a value, FENCE for the fence of the lease.
const CALLS: [(&str, &str); 11] = [
    ("/api/jobs", r#"{"type":"plain","payload":JSON}"#),
    ("/api/jobs/HELD/succeed", r#"{"worker":"w1","fence":FENCE,"result":JSON}"#),
    ("/api/jobs/HELD/partial", r#"{"worker":"w1","fence":FENCE,"result":JSON}"#),
    ("/api/jobs/HELD/fail", r#"{"worker":"w1","fence":FENCE,"error":{"details":JSON}}"#),
    ("/api/jobs/HELD/release", r#"{"worker":"w1","fence":FENCE,"checkpoint":JSON}"#),
    ("/api/jobs/HELD/cancel-confirm", r#"{"worker":"w1","fence":FENCE,"checkpoint":JSON}"#),
    ("/api/jobs/HELD/cancel-confirm", r#"{"worker":"w1","fence":FENCE,"result":JSON}"#),
    ("/api/jobs/HELD/logs", r#"{"worker":"w1","fence":FENCE,"lines":[{"text":JSON}]}"#),
    ("/api/jobs/HELD/signals/go", r#"{"payload":JSON}"#),
    ("/api/schedules", r#"{"cron":"0 0 * * *","job":{"type":"plain","payload":JSON}}"#),
    ("/engine/jobs", r#"{"jobType":"plain","payload":JSON}"#),
];

fn rows(jobs: &Jobs) -> Vec<Row> {
    let fill = |text: &str| text.replace("HELD", &jobs.held).replace("FENCE", &jobs.fence.to_string());
    let digits = "9".repeat(400);
    let values = ["1e400", "-1e400", r#"{"a":[{"b":1E309}]}"#, &digits];
    let of = |(path, body): (&str, &str)| {
        let (path, body) = (fill(path), fill(body));
        values.map(|value| malformed(&path, body.replace("JSON", value)))
    };
    CALLS.into_iter().flat_map(of).collect()
}

#[test]
fn a_number_that_readers_cannot_represent_is_refused_wherever_json_is_stored() {
    on_both_stores_with_config(CONFIG, async |server| {
        let jobs = prepare(&server).await;
        refuse_all(&server, &jobs, rows(&jobs)).await;
        for (path, body) in [
            ("/api/jobs/batch", r#"{"jobs":[{"type":"plain","payload":1e400}]}"#.to_owned()),
            (
                "/api/reports",
                format!(
                    r#"{{"worker":"w1","reports":[{{"job":"{}","fence":{},"verb":"succeed","result":1e400}}]}}"#,
                    jobs.held, jobs.fence
                ),
            ),
        ] {
            let answer = server.post_text(path, body).await.expect(200);
            assert_eq!(answer["results"][0]["error"]["code"], "malformed", "{path}: {answer}");
        }
        let text = r#"{"type":"plain","payload":[1e308,-1e308,1e-400,123456789012345678901234567890]}"#;
        let job = server.post_text("/api/jobs", text).await.expect(202);
        let read = server.get(&format!("/api/jobs/{}", job["id"].as_str().unwrap())).await;
        assert!(read.text.contains("[1e308,-1e308,1e-400,123456789012345678901234567890]"), "{}", read.text);
        server.claim(json!({ "worker": "w9" })).await;
    });
}

#[test]
fn an_integer_may_have_a_fraction_of_zeros() {
    on_both_stores_with_config(CONFIG, async |server| {
        let job = r#"{"type":"plain","priority":-1.0,"max_attempts":3.0e0}"#;
        let job = server.post_text("/api/jobs", job).await.expect(202);
        assert_eq!((&job["priority"], &job["max_attempts"]), (&json!(-1), &json!(3)));
        let claim = r#"{"worker":"w1","max":10e-1}"#;
        let held = server.post_text("/api/claims", claim).await.expect(200)["jobs"][0].take();
        let fence = &held["lease"]["fence"];
        for (fence, status) in
            [(format!("{fence}.0"), 200), ("5295.0".to_owned(), 409), (format!("{fence}.5"), 400)]
        {
            let path = format!("/api/jobs/{}/heartbeat", held["id"].as_str().unwrap());
            let body = format!(r#"{{"worker":"w1","fence":{fence}}}"#);
            assert_eq!(server.post_text(&path, body).await.status, status, "{fence}");
        }
    });
}
