//! Reports of workers that are invalid or do not match their lease.

use serde_json::{Value, json};
use tenure_e2e::{on_both_stores_with_config, rows};

use super::{ANY, CONFIG, Jobs, NONE, Row, lines, malformed, post, prepare, refuse_all, snapshot};

/// Verbs with their required fields.
const VERBS: [(&str, &str); 9] = [
    ("start", ""),
    ("heartbeat", ""),
    ("progress", r#","progress":5"#),
    ("succeed", ""),
    ("partial", ""),
    ("fail", r#","error":{}"#),
    ("reject", r#","reason":"x""#),
    ("release", ""),
    ("cancel-confirm", ""),
];

/// Invalid fields of a lease holder. FENCE is that of the lease, VERB the verb.
const HOLDERS: &str = include_str!("holders.txt");

/// Verbs with missing or invalid fields.
const REPORTS: &str = include_str!("reports.txt");

/// Reports on jobs that the worker does not hold, and invalid reports on those that it does.
fn report_rows(jobs: &Jobs) -> Vec<Row> {
    let Jobs { ready, held, fence, done } = jobs;
    let by =
        |worker: &str, fence: u64, more: &str| format!(r#"{{"worker":"{worker}","fence":{fence}{more}}}"#);
    let mine = |more: &str| by("w1", *fence, more);
    let verb_path = |job: &str, verb: &str| format!("/api/jobs/{job}/{verb}");
    let mut rows = Vec::new();
    for (verb, more) in VERBS {
        let path = verb_path(held, verb);
        // A verb without a rule in this state is refused as an invalid transition before the lease is checked.
        let code = if ["start", "partial", "reject", "cancel-confirm"].contains(&verb) {
            ANY
        } else {
            "lease_conflict"
        };
        rows.push(post(verb_path(NONE, verb), mine(more), 404, "not_found"));
        rows.push(malformed(&verb_path("7", verb), mine(more)));
        for (worker, fence) in [("w1", fence + 1), ("w2", *fence), ("w1", 0), ("w1", u64::MAX)] {
            rows.push(post(path.clone(), by(worker, fence, more), 409, code));
        }
        rows.push(post(verb_path(ready, verb), mine(more), 409, ANY));
        rows.push(post(verb_path(done, verb), by("w1", 99, more), 409, ANY));
        for holder in lines(HOLDERS) {
            let holder = holder.replace("FENCE", &fence.to_string()).replace("VERB", verb);
            rows.push(malformed(&path, format!("{{{holder}{more}}}")));
        }
        rows.push(malformed(&path, ""));
    }
    rows.extend(lines(REPORTS).map(|line| {
        let (verb, more) = line.split_once(' ').unwrap_or((line, ""));
        malformed(&verb_path(held, verb), mine(more))
    }));
    let too_long = json!({ "worker": "w1", "fence": fence, "progress": 5, "message": "x".repeat(16_385) });
    rows.push(malformed(&verb_path(held, "progress"), too_long.to_string()));
    rows.push(post(verb_path(held, "start"), mine(""), 409, "invalid_transition"));
    rows.push(post(verb_path(held, "cancel-confirm"), mine(""), 409, "invalid_transition"));
    let large = format!(r#","result":"{}""#, "x".repeat((1 << 20) + 1));
    rows.push(post(verb_path(held, "succeed"), mine(&large), 413, "too_large"));
    rows
}

fn log_rows(jobs: &Jobs) -> Vec<Row> {
    let Jobs { held, fence, .. } = jobs;
    let path = format!("/api/jobs/{held}/logs");
    let lines = |lines: Value| json!({ "worker": "w1", "fence": fence, "lines": lines }).to_string();
    let conflict = |body: Value| post(path.clone(), body.to_string(), 409, "lease_conflict");
    let line = json!({ "text": "x" });
    vec![
        post(path.clone(), lines(json!([{ "text": "x".repeat(65_537) }])), 413, "too_large"),
        malformed(&path, lines(json!(vec![json!({ "text": "" }); 10_001]))),
        malformed(&path, json!({ "worker": "w1", "lines": [line] }).to_string()),
        malformed(&path, json!({ "fence": fence, "lines": [line] }).to_string()),
        malformed(&path, "{}"),
        conflict(json!({ "worker": "w1", "fence": 99, "lines": [line] })),
        conflict(json!({ "worker": "w2", "fence": fence, "lines": [line] })),
    ]
}

#[test]
fn invalid_worker_requests_are_refused() {
    on_both_stores_with_config(CONFIG, async |server| {
        let jobs = prepare(&server).await;
        refuse_all(&server, &jobs, report_rows(&jobs)).await;
        refuse_all(&server, &jobs, log_rows(&jobs)).await;
    });
}

#[test]
fn only_the_invalid_items_of_a_batch_are_refused() {
    on_both_stores_with_config(CONFIG, async |server| {
        let jobs = prepare(&server).await;
        let before = snapshot(&server, &jobs).await;
        let Jobs { held, fence, .. } = &jobs;
        let reports = json!({ "worker": "w1", "reports": [
            7, [], {}, { "job": "7", "fence": fence, "verb": "start" }, { "job": held, "verb": "succeed" },
            { "job": held, "fence": fence, "verb": "explode" }, { "job": held, "fence": fence, "verb": "succeed", "worker": "w1" },
            { "job": held, "fence": fence, "verb": "progress", "progress": 101 },
            { "job": held, "fence": fence, "verb": "succeed", "result": "\0" }, { "job": held, "fence": 99, "verb": "succeed" },
        ] });
        let reply = server.post_ok("/api/reports", &reports).await;
        let codes = |reply: &Value| -> Vec<String> {
            let results = rows(&reply["results"]);
            results.iter().map(|result| result["error"]["code"].as_str().unwrap_or("ok").to_owned()).collect()
        };
        let mut wanted = vec!["malformed"; 9];
        wanted.push("lease_conflict");
        assert_eq!(codes(&reply), wanted, "{reply}");
        let batch = json!({ "jobs": [
            7, [], "plain", {}, { "type": "plain", "priority": "high" }, { "type": "undeclared" }, { "type": "picture" },
        ] });
        let reply = server.post_ok("/api/jobs/batch", &batch).await;
        let mut wanted = vec!["malformed"; 5];
        wanted.extend(["unknown_type", "validation_failed"]);
        assert_eq!(codes(&reply), wanted, "{reply}");
        assert_eq!(snapshot(&server, &jobs).await, before);
    });
}
