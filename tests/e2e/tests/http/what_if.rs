//! Another version of a lifecycle, judged by the jobs of the server: over HTTP and in the dashboard.

use serde_json::{Value, json};
use tenure_core::lifecycle::{BUILT_IN, Lifecycle};
use tenure_e2e::*;

const DISTRIBUTED: &str = BUILT_IN[0];

/// Version 2 of `distributed`, with pieces of its text replaced.
fn second(changes: &[(&str, &str)]) -> String {
    let mut source = DISTRIBUTED.replacen("version = 1", "version = 2", 1);
    for (old, new) in changes {
        assert!(source.contains(old), "{old} is in the file");
        source = source.replacen(old, new, 1);
    }
    source
}

/// Without the retry of a failed attempt, and without a cancel of queued jobs.
fn stricter() -> String {
    let retry = "[[transitions]]\non = \"fail\"\nfrom = \"running\"\nwhen = \"retry\"\nto = \"queued\"\nevent = \"job_retried\"\n";
    let cancel = "on = \"cancel\"\nfrom = [\"queued\", \"assigned\", \"running\"]";
    second(&[(retry, ""), (cancel, "on = \"cancel\"\nfrom = [\"assigned\", \"running\"]")])
}

async fn what_if(server: &Server, source: &str) -> Reply {
    let body = json!({ "source": source, "since": "1h" });
    server.post("/api/lifecycles/distributed/what-if", &body).await
}

/// Two jobs that succeed at once, one that succeeds after a retry, one that fails, one that is cancelled while it is queued; and one
/// running and one queued job. Returns the retried and the cancelled one.
async fn make_jobs(server: &Server) -> [Value; 2] {
    for _ in 0..2 {
        server.create_finished(json!({ "type": "a" })).await;
    }
    let retried = server.create_claimed(json!({ "type": "a" })).await;
    server.report_ok(&retried, "fail", json!({ "error": { "code": "E", "message": "again" } })).await;
    let again = server.claim_next().await;
    server.succeed(&again).await;
    let failed = server.create_claimed(json!({ "type": "a" })).await;
    let permanent = json!({ "error": { "code": "E", "message": "no", "class": "permanent" } });
    server.report_ok(&failed, "fail", permanent).await;
    let cancelled = server.create(json!({ "type": "a" })).await;
    server.call_ok(&cancelled, "cancel", &json!({})).await;
    server.create_claimed(json!({ "type": "a" })).await;
    server.create(json!({ "type": "a" })).await;
    [retried, cancelled]
}

/// The results as lines.
fn lines(found: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let line = |it: &Value| {
        let [was, end, is] = ["outcome", "end", "new_outcome"].map(|field| text(&it[field]));
        format!("{was} {end} {is} {} {}", it["jobs"], it["early"])
    };
    let mut lines: Vec<String> = rows(&found["histories"]["results"]).iter().map(line).collect();
    lines.sort();
    lines
}

#[test]
fn histories_and_live_jobs_are_judged_under_another_version() {
    on_both_stores(async |server| {
        let [retried, cancelled] = make_jobs(&server).await;
        let found = what_if(&server, DISTRIBUTED).await.expect(200);
        assert_fields(&found, json!({ "name": "distributed", "version": 1, "in_force": 1 }));
        let same = [
            "cancelled finished cancelled 1 0",
            "failed finished failed 1 0",
            "succeeded finished succeeded 3 0",
        ];
        assert_eq!(lines(&found), same, "the version in force changes nothing");
        let counted = json!({ "jobs": 2, "examined": 2, "could_continue": 2 });
        assert_fields(&found["live"], counted);

        let found = what_if(&server, &stricter()).await.expect(200);
        assert_eq!(
            lines(&found),
            [
                "cancelled stopped - 1 0",
                "failed finished failed 1 0",
                "succeeded finished failed 1 1",
                "succeeded finished succeeded 2 0",
            ]
        );
        assert_fields(&found["histories"], json!({ "examined": 5, "complete": true, "skipped": 0 }));
        let changed = rows(&found["histories"]["results"]).iter().find(|it| it["early"] == 1).unwrap();
        assert_eq!(changed["examples"], json!([retried["id"]]));
        assert_eq!(
            found["histories"]["obstacles"],
            json!([{
                "trigger": "cancel", "state": "queued", "recorded_state": "queued",
                "detail": "no rule for `cancel` from `queued`", "jobs": 1,
                "examples": [{ "job_id": cancelled["id"], "seq": 2 }],
            }])
        );
    });
}

#[test]
fn live_jobs_in_a_state_that_is_gone_could_not_continue() {
    on_both_stores(async |server| {
        make_jobs(&server).await;
        let renamed = DISTRIBUTED.replace("running", "working").replacen("version = 1", "version = 2", 1);
        let live = what_if(&server, &renamed).await.expect(200)["live"].clone();
        assert_fields(&live, json!({ "examined": 2, "could_continue": 1 }));
        let states = rows(&live["states"]);
        let queued = find(&live["states"], "state", "queued");
        assert_fields(
            queued,
            json!({ "version": 1, "phase": "ready", "counterpart": "ready", "reasons": [] }),
        );
        let running = states.iter().find(|state| state["state"] == "running").unwrap();
        assert_fields(running, json!({ "phase": "active", "counterpart": null, "jobs": 1 }));
        assert_eq!(running["reasons"][0], "a live job may be in `running`, which would not exist");
    });
}

#[test]
fn a_flawed_file_is_refused_with_the_errors_of_the_check() {
    on_both_stores(async |server| {
        let flawed = second(&[("to = \"dead_lettered\"", "to = \"nowhere\"")]);
        let flaws = Lifecycle::parse(&flawed).unwrap_err();
        let problem = what_if(&server, &flawed).await.problem(422, "validation_failed");
        let expected = flaws.iter().map(|flaw| json!({ "pointer": "#/source", "detail": flaw.to_string() }));
        assert_eq!(problem["errors"], expected.collect::<Value>());
        let other = second(&[("name    = \"distributed\"", "name = \"other\"")]);
        let problem = what_if(&server, &other).await.problem(422, "validation_failed");
        assert_eq!(problem["errors"][0]["detail"], "describes lifecycle other, not distributed");
        let unknown = server.post("/api/lifecycles/other/what-if", &json!({ "source": other })).await;
        unknown.problem(404, "not_found");
        let bad_span = json!({ "source": DISTRIBUTED, "since": "yesterday" });
        server.post("/api/lifecycles/distributed/what-if", &bad_span).await.problem(400, "malformed");
    });
}

/// The answer to a form of the dashboard.
async fn send_form(server: &Server, source: &str) -> Reply {
    let fields = [("source", source.replace('\n', "\r\n")), ("since", "1h".to_owned())];
    let url = reqwest::Url::parse_with_params("http://form", &fields).unwrap();
    let request = server.request("POST", "/ui/lifecycles/distributed/what-if").header("origin", server.url());
    let request =
        request.header("accept", "text/html").header("content-type", "application/x-www-form-urlencoded");
    request.bytes(url.query().unwrap()).send().await
}

#[test]
fn the_dashboard_shows_what_a_version_would_have_changed() {
    on_both_stores(async |server| {
        let [retried, _] = make_jobs(&server).await;
        let asked = server.request("GET", "/ui/lifecycles/distributed/what-if").header("accept", "text/html");
        let form = asked.send().await;
        assert!(
            form.status == 200 && form.text.contains("name    = &quot;distributed&quot;"),
            "{}",
            form.text
        );
        let shown = send_form(&server, &stricter()).await;
        assert_eq!(shown.status, 200, "{}", shown.text);
        for piece in [
            "2 of 2",
            "2 of 5",
            "could not follow an event",
            "no rule for `cancel` from `queued`",
            id(&retried),
        ] {
            assert!(shown.text.contains(piece), "{piece} is not in {}", shown.text);
        }
        let flawed = second(&[("to = \"dead_lettered\"", "to = \"nowhere\"")]);
        let shown = send_form(&server, &flawed).await;
        let first = Lifecycle::parse(&flawed).unwrap_err().remove(0).message;
        assert!(shown.status == 200 && shown.text.contains(&first), "{first} is not in {}", shown.text);
    });
}
