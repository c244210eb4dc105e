//! Bad input, as tables: each row is a request and its answer. None is answered with a 5xx, none hangs, none changes
//! anything, and after each the server goes on.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tenure_e2e::{Server, Setup, Store, eventually, in_time, on_both_stores_with_config};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const CONFIG: &str = r#"
[types.plain]
lifecycle = "distributed"
lease = "1h"
heartbeat = "10m"

[types.picture]
lifecycle = "image"
schema = { type = "object", required = ["prompt"], properties = { prompt = { type = "string" } } }
guard = 'size(payload.prompt) <= 10'
cost = 1

[limits]
payload = "32 KiB"
body = "2 MiB"
"#;

/// Any code will do.
const ANY: &str = "*";

/// One bad request, and what is answered.
struct Row {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    status: u16,
    code: &'static str,
}

impl Row {
    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn shown(&self) -> String {
        let body: String = String::from_utf8_lossy(&self.body).chars().take(200).collect();
        format!("{} {} {:?} {body}", self.method, self.path, self.headers)
    }
}

fn get(path: impl Into<String>, status: u16, code: &'static str) -> Row {
    Row { method: "GET", path: path.into(), headers: vec![], body: vec![], status, code }
}

/// A POST of JSON, or of what pretends to be.
fn post(path: impl Into<String>, body: impl Into<Vec<u8>>, status: u16, code: &'static str) -> Row {
    let headers = vec![("content-type", "application/json".to_owned())];
    Row { method: "POST", path: path.into(), headers, body: body.into(), status, code }
}

/// A POST that cannot be read.
fn malformed(path: &str, body: impl Into<Vec<u8>>) -> Row {
    post(path, body, 400, "malformed")
}

/// Jobs to be rude to.
struct Scene {
    ready: String,
    held: String,
    fence: u64,
    done: String,
}

async fn scene(server: &Server) -> Scene {
    let create = async || {
        let job = server.post("/api/jobs", &json!({ "type": "plain" })).await.expect(202);
        job["id"].as_str().unwrap().to_owned()
    };
    let claim = async || {
        let asked = json!({ "worker": "w1", "types": ["plain"], "start": true });
        let jobs = server.post("/api/claims", &asked).await.expect(200);
        jobs["jobs"][0]["lease"]["fence"].as_u64().unwrap()
    };
    let done = create().await;
    let fence = claim().await;
    let path = format!("/api/jobs/{done}/succeed");
    server.post(&path, &json!({ "worker": "w1", "fence": fence })).await.expect(200);
    let held = create().await;
    let fence = claim().await;
    Scene { ready: create().await, held, fence, done }
}

/// Everything that a request could have changed.
async fn everything(server: &Server, scene: &Scene) -> Value {
    let mut all = json!({});
    for path in [
        "/api/jobs?limit=500",
        "/api/events?after=latest&limit=1",
        "/api/audit?limit=500",
        "/api/dead-letters",
        "/api/queues",
        "/api/accounts/u1/credits",
        "/api/keys",
        "/api/schedules",
        "/api/webhooks",
        &format!("/api/jobs/{}/logs", scene.held),
    ] {
        all[path] = server.get(path).await.expect(200);
    }
    all
}

/// Sends every row; tells all that were answered otherwise, or that changed something.
async fn refuse_all(server: &Server, scene: &Scene, rows: Vec<Row>) {
    let before = everything(server, scene).await;
    let mut wrong = String::new();
    for row in &rows {
        let mut request = server.request(row.method, &row.path);
        for (name, value) in &row.headers {
            request = request.header(name, value);
        }
        let reply = request.bytes(row.body.clone()).send().await;
        let code = reply.body["code"].as_str().unwrap_or_default();
        if reply.status != row.status || (row.code != ANY && code != row.code) {
            let text: String = reply.text.chars().take(300).collect();
            writeln!(
                wrong,
                "{}\n  wanted {} {}, got {} {text}",
                row.shown(),
                row.status,
                row.code,
                reply.status
            )
            .unwrap();
        } else if reply.header("content-type") != Some("application/problem+json") {
            writeln!(wrong, "{}\n  is answered, but not with a problem", row.shown()).unwrap();
        }
        assert!(everything(server, scene).await == before, "{wrong}{}\n  changed something", row.shown());
    }
    assert!(wrong.is_empty(), "{} rows\n{wrong}", rows.len());
}

/// One answer on a raw connection: its status, its head and its body. Status 0: closed without an answer.
async fn raw(server: &Server, bytes: &[u8]) -> (u16, String, Value) {
    let text = server.raw(bytes).await;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, head.to_ascii_lowercase(), serde_json::from_str(body).unwrap_or(Value::Null))
}

/// A request with the headers that every one has.
fn wire(line: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n{body}").into_bytes()
}

/// Status, code and request line.
const LINES: &str = r"
404 not_found GET /nothing
404 not_found GET /api/nothing
404 not_found GET /api/jobs/
404 not_found GET //api/jobs
404 not_found GET /docs/../api/jobs
404 not_found GET /api/lifecycles/..%2f..%2fCargo
404 not_found GET /problems/..%2f..%2fREADME
405 method_not_allowed DELETE /api/jobs
405 method_not_allowed TRACE /api/jobs
405 method_not_allowed BREW /api/jobs
405 method_not_allowed PUT /healthz
400 malformed GET /api/jobs/%zz
400 malformed GET /api/jobs/%00
400 malformed GET /api/jobs/%ff
400 malformed GET /api/jobs/..%2f..%2fetc%2fpasswd
400 malformed GET /api/lifecycles/%00
400 malformed GET /api/lifecycles/%ff
400 malformed GET /api/jobs?state=%zz
400 malformed GET /api/jobs?state=%00
400 malformed GET /api/jobs?state=%ff
400 malformed GET /api/jobs?st%ate=x
";

const JOB: &str = r#"{"type":"plain"}"#;
const IS_JSON: &str = "Content-Type: application/json\r\n";

/// Bytes, the statuses that will do (0: closed without an answer), and the code.
type Wire = (Vec<u8>, &'static [u16], &'static str);

/// A good job with such headers.
fn create(headers: &str) -> Vec<u8> {
    wire("POST /api/jobs", &format!("{headers}Content-Length: {}\r\n", JOB.len()), JOB)
}

/// Headers that say what is not taken, from where nobody should come, or to whom we are not.
fn header_rows() -> Vec<Wire> {
    let mut rows: Vec<Wire> = vec![
        (create(""), &[415], "unsupported_media_type"),
        (create(&format!("{IS_JSON}Content-Encoding: gzip\r\n")), &[415], "unsupported_media_type"),
    ];
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "json", "*/*"]
    {
        rows.push((create(&format!("Content-Type: {kind}\r\n")), &[415], "unsupported_media_type"));
    }
    for origin in ["https://evil.example", "null", "http://localhost:1", "http://localhost.evil.example"] {
        rows.push((create(&format!("{IS_JSON}Origin: {origin}\r\n")), &[403], "forbidden"));
    }
    for head in [
        "GET /api/jobs HTTP/1.1\r\nHost: evil.example",
        "GET /api/jobs HTTP/1.1\r\nHost: localhost.evil.example",
        "GET /api/jobs HTTP/1.1\r\nX-No: host",
        "GET http://evil.example/api/jobs HTTP/1.1\r\nHost: localhost",
        "GET /metrics HTTP/1.1\r\nHost: evil.example",
        "GET /openapi.json HTTP/1.1\r\nHost: evil.example:80",
    ] {
        rows.push((format!("{head}\r\nConnection: close\r\n\r\n").into(), &[421], "misdirected"));
    }
    rows
}

/// Lengths that lie, heads that are too long, and what is not HTTP at all.
fn framing_rows() -> Vec<Wire> {
    let long = "x".repeat(20_000);
    let many = (0..80).fold(String::new(), |many, n| format!("{many}X-{n}: y\r\n"));
    let chunked = format!("{IS_JSON}Transfer-Encoding: chunked\r\n");
    let too_much = format!("100000\r\n{}\r\n", " ".repeat(1 << 20)).repeat(3) + "0\r\n\r\n";
    let post = |headers: &str, body: &str| wire("POST /api/jobs", headers, body);
    let length = |length: &str| format!("{IS_JSON}Content-Length: {length}\r\n");
    let broken: &[u16] = &[400, 0];
    vec![
        (post(&length("999999999999"), ""), &[413], "too_large"),
        (post(&chunked, &too_much), &[413], "too_large"),
        (post(&chunked, "zz\r\n{}\r\n0\r\n\r\n"), broken, ANY),
        (post(&chunked, "fffffffffffffffff\r\n{}\r\n"), broken, ANY),
        (post(&format!("{chunked}Content-Length: 5\r\n"), "2\r\n{}\r\n0\r\n\r\n"), broken, ANY),
        (post(&format!("{IS_JSON}Transfer-Encoding: gzip\r\n"), JOB), broken, ANY),
        (create(&length("3")), broken, ANY),
        (post(&length("-1"), JOB), broken, ANY),
        (post(&length("1x"), JOB), broken, ANY),
        (wire("GET /api/jobs", &format!("X-Long: {long}\r\n"), ""), &[431], ANY),
        (wire("GET /api/jobs", &many, ""), &[431], ANY),
        (wire(&format!("GET /api/jobs?state={long}"), "", ""), &[414, 431], ANY),
        (wire(&format!("GET /api/jobs?state={}", long.repeat(4)), "", ""), &[414, 431], ANY),
        (wire("CONNECT localhost:80", "", ""), &[400, 404, 405], ANY),
        (wire("GET /api/jobs", "Bad Header: x\r\n", ""), broken, ANY),
        (wire("GET /api/jobs", "X-Nul: a\0b\r\n", ""), broken, ANY),
        (b"GARBAGE\r\n\r\n".to_vec(), broken, ANY),
        (b"GET /api/jobs HTTP/9.9\r\n\r\n".to_vec(), &[400, 505, 0], ANY),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(), broken, ANY),
    ]
}

#[tokio::test]
async fn http_that_is_not_as_it_should_be() {
    on_both_stores_with_config(CONFIG, async |server| {
        let scene = scene(&server).await;
        let before = everything(&server, &scene).await;
        let mut rows = header_rows();
        rows.extend(framing_rows());
        for line in LINES.trim().lines() {
            let (status, rest) = line.split_once(' ').unwrap();
            let (code, request) = rest.split_once(' ').unwrap();
            let status: &[u16] = match status {
                "400" => &[400],
                "404" => &[404],
                _ => &[405],
            };
            rows.push((wire(request, "", ""), status, code));
        }
        let mut wrong = String::new();
        for (bytes, statuses, code) in &rows {
            let shown: String = String::from_utf8_lossy(bytes).chars().take(150).collect();
            let (status, head, body) = in_time(&shown, raw(&server, bytes)).await;
            let is_right = statuses.contains(&status) && (*code == ANY || body["code"] == *code);
            let says_more = match status {
                405 => head.contains("\r\nallow: "),
                413 => body["limit"] == 2 << 20,
                _ => true,
            };
            if !is_right || !says_more {
                writeln!(wrong, "{shown:?}\n  wanted {statuses:?} {code}, got {status} {head:?} {body}")
                    .unwrap();
            }
            assert!(everything(&server, &scene).await == before, "{shown:?} changed something\n{wrong}");
        }
        assert!(wrong.is_empty(), "{} rows\n{wrong}", rows.len());
    })
    .await;
}

/// Bodies that are no JSON, or no job.
const NO_JOBS: &str = r#"
{
}
nul
{}
[]
null
42
"plain"
"type"
["plain"]
["plain",{}]
[{}]
{'type':'plain'}
{type:"plain"}
{"type":"plain",}
{"type":"plain"}x
{"type":"plain"}{}
{"type":"plain"} // why
{"type":"\ud800"}
{"type":"\x41"}
{"type":"plain\u0000"}
{"type":"pla\u0007in"}
{"type":""}
{"type":7}
{"type":null}
{"type":["plain"]}
{"Type":"plain"}
{"type":"plain","type":"plain"}
{"type":"plain","\u0074ype":"plain"}
"#;

/// Members that a job does not have, or not so.
const NO_MEMBERS: &str = r#"
"payload":NaN
"payload":Infinity
"payload":-Infinity
"payload":01
"payload":+1
"payload":.5
"payload":"\u0000"
"payload":{"\u0000":1}
"payload":{"a":1,"a":2}
"payload":{"a":[{"b":1,"b":1}]}
"payload":"\udc00"
"payloads":{}
"PAYLOAD":{}
"":1
"id":"0198c2f0-0000-7000-8000-000000000000"
"state":"running"
"priority":1000001
"priority":-1000001
"priority":1e400
"priority":1.0
"priority":1.5
"priority":"1"
"priority":true
"priority":9223372036854775808
"priority":{}
"max_attempts":0
"max_attempts":-1
"max_attempts":1001
"max_attempts":18446744073709551616
"max_attempts":"3"
"delay":5
"delay":""
"delay":"soon"
"delay":"-1s"
"delay":"1.5s"
"delay":"1 week"
"delay":"36501d"
"delay":"99999999999999999999s"
"run_at":"yesterday"
"run_at":"0000-01-01T00:00:00Z"
"run_at":"1969-12-31T23:59:59Z"
"run_at":"10000-01-01T00:00:00Z"
"run_at":"2026-01-01T00:00:00"
"run_at":"2026-01-01"
"run_at":"2026-02-30T00:00:00Z"
"run_at":"2026-06-30T23:59:60Z"
"run_at":"2026-01-01T24:00:00Z"
"run_at":"2026-01-01T00:00:00+99:00"
"run_at":1767225600
"run_at":"2030-01-01T00:00:00Z","delay":"1s"
"user_id":""
"user_id":"a\nb"
"user_id":7
"queue":""
"queue":"a\u0085b"
"correlation_id":"\u001b[31m"
"lifecycle":""
"#;

/// A line each.
fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.trim().lines()
}

/// Bodies that are not JSON, or not the JSON that a job is.
fn json_rows() -> Vec<Row> {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let job = |members: &str| format!(r#"{{"type":"plain",{members}}}"#);
    let mut bodies: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b" ".to_vec(),
        b"{\"type\":\"pl\nain\"}".to_vec(),
        b"{\"type\":\"\xff\xfe\"}".to_vec(),
        b"\xef\xbb\xbf{\"type\":\"plain\"}".to_vec(),
        job(&format!(r#""payload":{}"#, deep(64))).into(),
        job(&format!(r#""payload":{}"#, deep(50_000))).into(),
        deep(100_000).into(),
        "[".repeat(100_000).into(),
        "x".repeat(100_000).into(),
        format!(r#"{{"type":"{}"}}"#, "x".repeat(256)).into(),
    ];
    bodies.extend(lines(NO_JOBS).map(Vec::from));
    bodies.extend(lines(NO_MEMBERS).map(|members| job(members).into()));
    for member in ["user_id", "queue", "correlation_id", "lifecycle"] {
        bodies.push(job(&format!(r#""{member}":"{}""#, "é".repeat(128))).into());
    }
    bodies.into_iter().map(|body| malformed("/api/jobs", body)).collect()
}

#[tokio::test]
async fn json_that_is_not_as_it_should_be() {
    on_both_stores_with_config(CONFIG, async |server| {
        let scene = scene(&server).await;
        refuse_all(&server, &scene, json_rows()).await;
        let keys = ["", &"k".repeat(256), "kéy", "a\tb"];
        let mut rows: Vec<Row> = vec![];
        for key in keys {
            rows.push(malformed("/api/jobs", r#"{"type":"plain"}"#).with("idempotency-key", key));
        }
        rows.push(
            malformed("/api/jobs", r#"{"type":"plain"}"#)
                .with("idempotency-key", "a")
                .with("idempotency-key", "b"),
        );
        refuse_all(&server, &scene, rows).await;
    })
    .await;
}

/// No job has it.
const NONE: &str = "0198c2f0-0000-7000-8000-000000000000";

/// Jobs that cannot be made, and what cannot be done with those that were.
fn job_rows(scene: &Scene) -> Vec<Row> {
    let Scene { ready, held, done, .. } = scene;
    let of = |job: &str, rest: &str| format!("/api/jobs/{job}{rest}");
    let large = format!(r#"{{"type":"plain","payload":"{}"}}"#, "x".repeat(40_000));
    let dead = r#"{"reason_code":"timeout","detail":"x"}"#;
    let create = |body: &str, status, code| post("/api/jobs", body, status, code);
    let guarded = r#"{"type":"picture","payload":{"prompt":"much too long"},"user_id":"u1"}"#;
    let priced = r#"{"type":"picture","payload":{"prompt":"a"},"user_id":"u1"}"#;
    let mut rows = vec![
        create(r#"{"type":"nobody_declared"}"#, 422, "unknown_type"),
        create(r#"{"type":"plain","lifecycle":"engine"}"#, 422, ANY),
        create(r#"{"type":"picture"}"#, 422, "validation_failed"),
        create(r#"{"type":"picture","payload":null}"#, 422, "validation_failed"),
        create(r#"{"type":"picture","payload":{"prompt":7}}"#, 422, "validation_failed"),
        create(guarded, 422, "guard_rejected"),
        create(priced, 402, "insufficient_credits"),
        create(&large, 413, "too_large"),
        post(of(done, "/cancel"), "{}", 409, "invalid_transition"),
        post(of(done, "/dead-letter"), dead, 409, "invalid_transition"),
        post(of(ready, "/retry"), "", 409, "invalid_transition"),
        post(of(held, "/retry"), "", 409, "invalid_transition"),
        post(of(ready, "/signals/approve"), "", 409, "invalid_transition"),
        post(of(NONE, "/cancel"), "", 404, "not_found"),
        post(of(NONE, "/retry"), "", 404, "not_found"),
        post(of(NONE, "/signals/approve"), "", 404, "not_found"),
        post(of(NONE, "/dead-letter"), dead, 404, "not_found"),
        post(format!("/api/dead-letters/{ready}/dismiss"), r#"{"reason":"x"}"#, 404, "not_found"),
        post("/api/keys", r#"{"role":"viewer"}"#, 422, "validation_failed"),
        get("/api/lifecycles/nobody_declared", 404, "not_found"),
        get("/api/lifecycles/nobody_declared/diagram.svg", 404, "not_found"),
        get("/problems/nobody_declared", 404, "not_found"),
    ];
    for rest in ["", "/events", "/replay", "/explain", "/logs", "/stream"] {
        rows.push(get(of(NONE, rest), 404, "not_found"));
        for id in ["7", "not-a-uuid", &NONE[..35], &NONE.replace('-', "")] {
            rows.push(get(of(id, rest), 400, "malformed"));
        }
    }
    rows
}

/// Queries that cannot be read. READY and DONE are jobs.
const QUERIES: &str = "
/api/jobs?limit=0
/api/jobs?limit=-1
/api/jobs?limit=501
/api/jobs?limit=1e9
/api/jobs?limit=ten
/api/jobs?limit=
/api/jobs?limit=99999999999999999999
/api/jobs?offset=1
/api/jobs?cursor=abc
/api/jobs?cursor=7
/api/jobs?phase=busy
/api/jobs?outcome=good
/api/jobs?created_after=now
/api/jobs?created_before=2026-13-01T00:00:00Z
/api/jobs?retry_of=7
/api/jobs?state=
/api/jobs?state=a&state=b
/api/jobs?limit=1&limit=2
/api/jobs?order=asc
/api/jobs?State=queued
/api/jobs?user_id=%0a
/api/events?after=abc
/api/events?after=-1
/api/events?after=9223372036854775808
/api/events?limit=0
/api/events?limit=501
/api/events?job_id=7
/api/events?state=queued
/api/audit?cursor=x
/api/audit?limit=501
/api/dead-letters?reason_code=bad_luck
/api/dead-letters?stage=final
/api/dead-letters?dismissed=maybe
/api/queues?x=1
/api/stats?x=1
/api/types?x=1
/api/workers?x=1
/api/lifecycles?x=1
/api/keys?x=1
/api/schedules?x=1
/api/webhooks?x=1
/api/accounts/u1/credits?limit=0
/api/jobs/DONE/replay?seq=0
/api/jobs/DONE/replay?seq=-1
/api/jobs/DONE/replay?seq=999
/api/jobs/DONE/replay?seq=x
/api/jobs/DONE/replay?seq=4294967296
/api/jobs/DONE/replay?at=1
/api/jobs/READY/logs?after=x
/api/jobs/READY/logs?limit=0
/api/jobs/READY/stream?after=x
/api/jobs/READY/events?telemetry=2
/api/jobs/READY/explain?x=1
/api/jobs/READY?x=1
";

/// Paths and bodies of what operators cannot ask for. READY is a job.
const ORDERS: &str = r#"
/api/jobs/batch {}
/api/jobs/batch []
/api/jobs/batch {"jobs":{}}
/api/jobs/batch {"jobs":null}
/api/jobs/batch {"jobs":[],"all":true}
/api/jobs/READY/cancel {"mode":"medium"}
/api/jobs/READY/cancel {"mode":1}
/api/jobs/READY/cancel {"why":"x"}
/api/jobs/READY/cancel []
/api/jobs/READY/cancel [null,null]
/api/jobs/READY/cancel null
/api/jobs/READY/cancel 7
/api/jobs/READY/dead-letter {}
/api/jobs/READY/dead-letter {"reason_code":"bad_luck","detail":"x"}
/api/jobs/READY/dead-letter {"detail":"x"}
/api/jobs/READY/dead-letter {"reason_code":"timeout"}
/api/jobs/READY/dead-letter {"reason_code":"timeout","detail":7}
/api/jobs/READY/retry {"payload":{}}
/api/jobs/READY/signals/approve {"why":"x"}
/api/jobs/READY/signals/a%0ab {}
/api/jobs/actions {}
/api/jobs/actions {"action":"delete","filter":{}}
/api/jobs/actions {"action":"cancel"}
/api/jobs/actions {"action":"cancel","filter":[]}
/api/jobs/actions {"action":"cancel","filter":{"colour":"red"}}
/api/jobs/actions {"action":"cancel","filter":{"state":7}}
/api/jobs/actions {"action":"cancel","filter":{"user_id":false}}
/api/jobs/actions {"action":"cancel","filter":{"phase":"busy"}}
/api/jobs/actions {"action":"retry","filter":{},"mode":"hard"}
/api/jobs/actions {"action":"cancel","filter":{},"cursor":"x"}
/api/dead-letters/redrive {}
/api/dead-letters/redrive {"ids":[],"filter":{}}
/api/dead-letters/redrive {"ids":["x"]}
/api/dead-letters/redrive {"ids":[7]}
/api/dead-letters/redrive {"filter":{},"max_per_second":0}
/api/dead-letters/redrive {"filter":{},"max_per_second":-1}
/api/dead-letters/redrive {"filter":{},"max_per_second":1e9}
/api/dead-letters/redrive {"filter":{"stage":"x"}}
/api/dead-letters/READY/dismiss {}
/api/dead-letters/7/dismiss {"reason":"x"}
/api/accounts/u1/credits {}
/api/accounts/u1/credits {"grant":-1,"reason":"x"}
/api/accounts/u1/credits {"grant":1.5,"reason":"x"}
/api/accounts/u1/credits {"grant":"1","reason":"x"}
/api/accounts/u1/credits {"grant":18446744073709551616,"reason":"x"}
/api/accounts/u1/credits {"grant":1,"reason":7}
/api/accounts/u1/credits {"grant":1}
/api/accounts/u1/credits {"grant":1,"reason":"x","to":"u2"}
/api/keys {}
/api/keys {"role":"king"}
/api/keys {"role":7}
/api/keys {"role":"admin","secret":"x"}
/api/keys {"role":"admin","user_id":""}
/api/queues/a%0ab/resume {}
/api/schedules {}
/api/webhooks {}
/api/webhooks {"url":7}
/api/webhooks {"url":"https://hooks.example/","filter":[]}
/api/webhooks {"url":"https://hooks.example/","filter":{"colour":"red"}}
/api/webhooks {"url":"https://hooks.example/","filter":{"event":""}}
/api/webhooks {"url":"https://hooks.example/","id":"a/b"}
/api/webhooks {"url":"https://hooks.example/","secret":"whsec_x"}
/api/schedules {"cron":"* * * * *"}
/api/schedules {"cron":7,"job":{"type":"a"}}
/api/schedules {"cron":"* * * * *","job":{}}
/api/schedules {"cron":"* * * * *","job":{"type":"a"},"overlap":"queue"}
/api/schedules {"cron":"* * * * *","job":{"type":"a","run_at":"2030-01-01T00:00:00Z"}}
/api/schedules {"cron":"* * * * *","job":{"type":"a"},"id":"a/b"}
/api/queues/default/pause {"for":"1h"}
/api/claims {}
/api/claims ["w2"]
/api/claims {"worker":""}
/api/claims {"worker":7}
/api/claims {"worker":"a\nb"}
/api/claims {"worker":"w2","max":0}
/api/claims {"worker":"w2","max":1001}
/api/claims {"worker":"w2","max":-1}
/api/claims {"worker":"w2","max":"1"}
/api/claims {"worker":"w2","max":1.0}
/api/claims {"worker":"w2","wait":"301s"}
/api/claims {"worker":"w2","wait":5}
/api/claims {"worker":"w2","wait":"-1s"}
/api/claims {"worker":"w2","types":"plain"}
/api/claims {"worker":"w2","types":[""]}
/api/claims {"worker":"w2","types":[7]}
/api/claims {"worker":"w2","queues":{}}
/api/claims {"worker":"w2","request_id":""}
/api/claims {"worker":"w2","start":"yes"}
/api/claims {"worker":"w2","type":"plain"}
/api/reports {}
/api/reports {"worker":"w1"}
/api/reports {"worker":"","reports":[]}
/api/reports {"worker":"w1","reports":{}}
"#;

/// What cannot be asked for, whatever the jobs.
fn request_rows(scene: &Scene) -> Vec<Row> {
    let named = |text: &str| text.replace("READY", &scene.ready).replace("DONE", &scene.done);
    let mut rows: Vec<Row> = lines(QUERIES).map(|path| get(named(path), 400, "malformed")).collect();
    rows.extend(lines(ORDERS).map(|line| {
        let (path, body) = line.split_once(' ').unwrap();
        malformed(&named(path), body)
    }));
    let list = |before: &str, item: &str, times: usize| {
        format!("{before}{}{item}]}}", format!("{item},").repeat(times))
    };
    rows.push(malformed("/api/jobs/batch", list(r#"{"jobs":["#, "0", 10_000)));
    rows.push(malformed("/api/reports", list(r#"{"worker":"w1","reports":["#, "0", 10_000)));
    rows.push(malformed("/api/dead-letters/redrive", list(r#"{"ids":["#, &format!("\"{NONE}\""), 10_000)));
    rows.push(malformed("/api/claims", list(r#"{"worker":"w2","types":["#, "\"x\"", 1000)));
    rows.push(malformed(&format!("/api/queues/{}/pause", "q".repeat(256)), ""));
    let reason = json!({ "reason": "x".repeat(16_385) }).to_string();
    rows.push(malformed(&named("/api/jobs/READY/cancel"), reason));
    rows
}

#[tokio::test]
async fn jobs_and_operators_that_ask_for_what_is_not_there() {
    on_both_stores_with_config(CONFIG, async |server| {
        let scene = scene(&server).await;
        refuse_all(&server, &scene, job_rows(&scene)).await;
        refuse_all(&server, &scene, request_rows(&scene)).await;
    })
    .await;
}

/// Verbs with all that they need.
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

/// Verbs and members that do not fit.
const REPORTS: &str = r#"
progress
progress ,"progress":-0.1
progress ,"progress":100.1
progress ,"progress":1e999
progress ,"progress":"5"
progress ,"progress":null
progress ,"progress":5,"result":{}
fail
fail ,"error":"no"
fail ,"error":[]
fail ,"error":{"class":"odd"}
fail ,"error":{"category":"odd"}
fail ,"error":{"stage":"odd"}
fail ,"error":{"code":""}
fail ,"error":{"why":"x"}
fail ,"error":{},"retry_after":5
fail ,"error":{},"retry_after":"soon"
fail ,"error":{},"result":{}
start ,"result":{}
heartbeat ,"progress":5
succeed ,"checkpoint":{}
reject
release ,"delay":5
release ,"delay":"36501d"
cancel-confirm ,"reason":"x"
"#;

/// What workers say of jobs that they do not hold, or say wrongly of those that they do.
fn report_rows(scene: &Scene) -> Vec<Row> {
    let Scene { ready, held, fence, done } = scene;
    let by =
        |worker: &str, fence: u64, more: &str| format!(r#"{{"worker":"{worker}","fence":{fence}{more}}}"#);
    let mine = |more: &str| by("w1", *fence, more);
    let say = |job: &str, verb: &str| format!("/api/jobs/{job}/{verb}");
    let mut rows = Vec::new();
    for (verb, more) in VERBS {
        let path = say(held, verb);
        // Where no rule leads out by this verb, that is said whoever holds it.
        let code = if ["start", "partial", "reject", "cancel-confirm"].contains(&verb) {
            ANY
        } else {
            "lease_conflict"
        };
        rows.push(post(say(NONE, verb), mine(more), 404, "not_found"));
        rows.push(malformed(&say("7", verb), mine(more)));
        for (worker, fence) in [("w1", fence + 1), ("w2", *fence), ("w1", 0), ("w1", u64::MAX)] {
            rows.push(post(path.clone(), by(worker, fence, more), 409, code));
        }
        rows.push(post(say(ready, verb), mine(more), 409, ANY));
        rows.push(post(say(done, verb), by("w1", 99, more), 409, ANY));
        for holder in [
            r#""worker":"w1""#.to_owned(),
            format!(r#""fence":{fence}"#),
            r#""worker":"w1","fence":-1"#.to_owned(),
            format!(r#""worker":"w1","fence":"{fence}""#),
            format!(r#""worker":"w1","fence":{fence}.0"#),
            format!(r#""worker":"","fence":{fence}"#),
            format!(r#""worker":"w1","fence":{fence},"verb":"{verb}""#),
            format!(r#""worker":"w1","fence":{fence},"extra":1"#),
        ] {
            rows.push(malformed(&path, format!("{{{holder}{more}}}")));
        }
        rows.push(malformed(&path, ""));
    }
    rows.extend(lines(REPORTS).map(|line| {
        let (verb, more) = line.split_once(' ').unwrap_or((line, ""));
        malformed(&say(held, verb), mine(more))
    }));
    let too_long = json!({ "worker": "w1", "fence": fence, "progress": 5, "message": "x".repeat(16_385) });
    rows.push(malformed(&say(held, "progress"), too_long.to_string()));
    rows.push(post(say(held, "start"), mine(""), 409, "invalid_transition"));
    rows.push(post(say(held, "cancel-confirm"), mine(""), 409, "invalid_transition"));
    let large = format!(r#","result":"{}""#, "x".repeat((1 << 20) + 1));
    rows.push(post(say(held, "succeed"), mine(&large), 413, "too_large"));
    rows
}

fn log_rows(scene: &Scene) -> Vec<Row> {
    let Scene { held, fence, .. } = scene;
    let path = format!("/api/jobs/{held}/logs");
    let lines = |lines: Value| json!({ "worker": "w1", "fence": fence, "lines": lines }).to_string();
    let line = json!({ "text": "x" });
    vec![
        post(path.clone(), lines(json!([{ "text": "x".repeat(65_537) }])), 413, "too_large"),
        malformed(&path, lines(json!(vec![json!({ "text": "" }); 10_001]))),
        malformed(&path, lines(json!("x"))),
        malformed(&path, lines(json!(["x"]))),
        malformed(&path, lines(json!([{}]))),
        malformed(&path, lines(json!([{ "text": 7 }]))),
        malformed(&path, lines(json!([{ "text": "x", "stream": "" }]))),
        malformed(&path, lines(json!([{ "text": "x", "colour": "red" }]))),
        malformed(&path, json!({ "worker": "w1", "lines": [line] }).to_string()),
        malformed(&path, json!({ "fence": fence, "lines": [line] }).to_string()),
        malformed(&path, "{}"),
        post(
            path.clone(),
            json!({ "worker": "w1", "fence": 99, "lines": [line] }).to_string(),
            409,
            "lease_conflict",
        ),
        post(
            path,
            json!({ "worker": "w2", "fence": fence, "lines": [line] }).to_string(),
            409,
            "lease_conflict",
        ),
    ]
}

#[tokio::test]
async fn workers_that_say_what_they_may_not() {
    on_both_stores_with_config(CONFIG, async |server| {
        let scene = scene(&server).await;
        refuse_all(&server, &scene, report_rows(&scene)).await;
        refuse_all(&server, &scene, log_rows(&scene)).await;
    })
    .await;
}

#[tokio::test]
async fn a_bad_item_of_a_batch_is_refused_by_itself() {
    on_both_stores_with_config(CONFIG, async |server| {
        let scene = scene(&server).await;
        let before = everything(&server, &scene).await;
        let Scene { held, fence, .. } = &scene;
        let reports = json!({ "worker": "w1", "reports": [
            7, [], {}, { "job": "7", "fence": fence, "verb": "start" }, { "job": held, "verb": "succeed" },
            { "job": held, "fence": fence, "verb": "explode" }, { "job": held, "fence": fence, "verb": "succeed", "worker": "w1" },
            { "job": held, "fence": fence, "verb": "progress", "progress": 101 }, { "job": held, "fence": 99, "verb": "succeed" },
        ] });
        let reply = server.post("/api/reports", &reports).await.expect(200);
        let codes = |reply: &Value| -> Vec<String> {
            let results = reply["results"].as_array().unwrap();
            results.iter().map(|result| result["error"]["code"].as_str().unwrap_or("ok").to_owned()).collect()
        };
        let mut wanted = vec!["malformed"; 8];
        wanted.push("lease_conflict");
        assert_eq!(codes(&reply), wanted, "{reply}");
        let jobs = json!({ "jobs": [
            7, [], "plain", {}, { "type": "plain", "priority": "high" }, { "type": "nobody_declared" }, { "type": "picture" },
        ] });
        let reply = server.post("/api/jobs/batch", &jobs).await.expect(200);
        let mut wanted = vec!["malformed"; 5];
        wanted.extend(["unknown_type", "validation_failed"]);
        assert_eq!(codes(&reply), wanted, "{reply}");
        assert_eq!(everything(&server, &scene).await, before);
    })
    .await;
}

#[tokio::test]
async fn a_request_of_two_lengths_is_the_last_on_its_connection() {
    let server = Server::sqlite().await;
    for lengths in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 12\r\n",
    ] {
        let first = format!("POST /api/jobs HTTP/1.1\r\nHost: localhost\r\n{IS_JSON}{lengths}\r\n");
        let smuggled = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let heard = server.raw(format!("{first}2\r\n{{}}\r\n0\r\n\r\n{smuggled}").as_bytes()).await;
        assert!(heard.starts_with("HTTP/1.1 400") || heard.is_empty(), "{lengths}: {heard}");
        assert!(heard.matches("HTTP/1.1 ").count() <= 1, "{lengths}: {heard}");
    }
}

#[tokio::test]
async fn a_head_that_never_ends_is_not_waited_for() {
    let config = "[limits]\nheader_timeout = \"200ms\"\nconnections = 3\n";
    let server = Server::with(config, Store::Sqlite).await;
    for beginning in ["", "GET", "GET /healthz HTTP/1.1\r\n", "GET /healthz HTTP/1.1\r\nHost: loc"] {
        let mut socket = TcpStream::connect(server.address()).await.unwrap();
        socket.write_all(beginning.as_bytes()).await.unwrap();
        let mut heard = Vec::new();
        let _ = in_time("a slow head is given up", socket.read_to_end(&mut heard)).await;
        let heard = String::from_utf8_lossy(&heard);
        assert!(heard.is_empty() || heard.starts_with("HTTP/1.1 408"), "{beginning:?}: {heard}");
    }
    eventually("the places are free again", async || {
        server.request("GET", "/healthz").try_send().await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn connections_beyond_the_bound_are_closed_and_the_others_go_on() {
    let server = Server::with("[limits]\nconnections = 3\n", Store::Sqlite).await;
    let ask = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let answered = async |socket: &mut TcpStream| {
        let mut buffer = [0; 1024];
        let written = socket.write_all(ask).await.is_ok();
        let count = in_time("an answer or the end", socket.read(&mut buffer)).await.unwrap_or(0);
        written && buffer[..count].starts_with(b"HTTP/1.1 200")
    };
    let mut inside = Vec::new();
    for _ in 0..3 {
        let mut socket = TcpStream::connect(server.address()).await.unwrap();
        assert!(answered(&mut socket).await);
        inside.push(socket);
    }
    for _ in 0..5 {
        let mut socket = TcpStream::connect(server.address()).await.unwrap();
        assert!(!answered(&mut socket).await, "a fourth is let in");
    }
    for socket in &mut inside {
        assert!(answered(socket).await, "one that was inside is not answered any more");
    }
    drop(inside.pop());
    eventually("a place is free again", async || {
        let mut socket = TcpStream::connect(server.address()).await.unwrap();
        answered(&mut socket).await
    })
    .await;
}

/// A new key: its id and its text.
async fn a_key(server: &Server, role: &str, user: Option<&str>) -> (String, String) {
    let made = server.post("/api/keys", &json!({ "role": role, "user_id": user })).await.expect(201);
    (made["id"].as_str().unwrap().to_owned(), made["key"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn credentials_that_are_none() {
    on_both_stores_with_config(CONFIG, async |mut server| {
        let scene = scene(&server).await;
        let (_, admin) = a_key(&server, "admin", None).await;
        server.use_key(Some(&admin));
        let (id, revoked) = a_key(&server, "admin", None).await;
        server.delete(&format!("/api/keys/{id}")).await.expect(200);
        let before = everything(&server, &scene).await;
        let (other, shorter) = (format!("{}~", &admin[..admin.len() - 1]), &admin[..admin.len() - 9]);
        let mut credentials =
            vec![String::new(), "Authorization: \r\n".into(), format!("Authorization: {admin}\r\n")];
        for value in ["Bearer", "Bearer ", "Bearer a.b.c", &format!("Basic {admin}")] {
            credentials.push(format!("Authorization: {value}\r\n"));
        }
        for key in [
            &admin.replace('_', "-"),
            &other,
            shorter,
            &format!("{admin} {admin}"),
            &revoked,
            &"x".repeat(4000),
        ] {
            credentials.push(format!("Authorization: Bearer {key}\r\n"));
        }
        let mut told: Vec<Value> = Vec::new();
        for given in &credentials {
            for line in ["GET /api/jobs", "GET /api/keys", &format!("POST /api/jobs/{}/cancel", scene.ready)]
            {
                let (status, head, mut body) = raw(&server, &wire(line, given, "")).await;
                assert_eq!(
                    (status, &body["code"]),
                    (401, &json!("unauthenticated")),
                    "{line} {given} {body}"
                );
                assert!(head.contains("www-authenticate: bearer"), "{head}");
                body["instance"].take();
                told.push(body);
            }
        }
        // What is wrong with a key is nobody's business: there is one answer, besides the one to those without any.
        told.sort_by_key(Value::to_string);
        told.dedup();
        assert!(told.len() <= 2, "{told:?}");
        let (status, _, body) =
            raw(&server, &wire(&format!("GET /api/jobs?access_token={admin}"), "", "")).await;
        assert_eq!(
            (status, &body["code"]),
            (401, &json!("unauthenticated")),
            "a key in the address is no key"
        );
        assert_eq!(everything(&server, &scene).await, before);
    })
    .await;
}

/// A role, and what it may not.
const FORBIDDEN: &str = r#"
viewer POST /api/jobs {"type":"plain"}
viewer POST /api/claims {"worker":"v"}
viewer POST /api/jobs/READY/cancel {}
viewer GET /api/keys
producer POST /api/jobs {"type":"plain","user_id":"u1"}
producer POST /api/claims {"worker":"p"}
producer GET /api/jobs/READY
producer POST /api/jobs/READY/cancel {}
producer GET /api/jobs?user_id=u1
producer GET /api/accounts/u1/credits
worker POST /api/jobs {"type":"plain"}
worker GET /api/jobs/HELD
worker POST /api/queues/default/pause {}
operator GET /api/keys
operator POST /api/keys {"role":"admin"}
"#;

#[tokio::test]
async fn roles_that_may_not() {
    on_both_stores_with_config(CONFIG, async |mut server| {
        let scene = scene(&server).await;
        let (_, admin) = a_key(&server, "admin", None).await;
        server.use_key(Some(&admin));
        let mut keys = BTreeMap::new();
        for role in ["viewer", "producer", "worker", "operator"] {
            let user = (role == "producer").then_some("u2");
            keys.insert(role, a_key(&server, role, user).await.1);
        }
        let before = everything(&server, &scene).await;
        for line in lines(FORBIDDEN) {
            let line = line.replace("READY", &scene.ready).replace("HELD", &scene.held);
            let words: Vec<&str> = line.splitn(4, ' ').collect();
            let request = server.request(words[1], words[2]).key(&keys[words[0]]);
            let request = request.header("content-type", "application/json");
            request.bytes(*words.get(3).unwrap_or(&"")).send().await.problem(403, "forbidden");
        }
        assert_eq!(everything(&server, &scene).await, before);
    })
    .await;
}

const JWT: &str = r#"
[auth.jwt]
issuer = "https://issuer.example/"
audience = "tenure"
jwks = "jwks.json"
"#;

fn base64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Header and claims, to be signed.
fn unsigned(header: &Value, claims: &Value) -> String {
    format!("{}.{}", base64(header.to_string().as_bytes()), base64(claims.to_string().as_bytes()))
}

fn signed(key: &Ed25519KeyPair, header: &Value, claims: &Value) -> String {
    let text = unsigned(header, claims);
    format!("{text}.{}", base64(key.sign(text.as_bytes()).as_ref()))
}

fn claims(change: &Value) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let mut claims = json!({ "iss": "https://issuer.example/", "aud": "tenure", "sub": "ann", "role": "admin", "exp": now + 600 });
    for (name, value) in change.as_object().unwrap() {
        claims[name] = match value.as_i64() {
            Some(seconds) => json!(now.saturating_add_signed(seconds)),
            None => value.clone(),
        };
    }
    claims
}

/// A good token, those that are not, and the key set by which one is told from the other.
fn tokens() -> (String, Vec<String>, Value) {
    let chance = ring::rand::SystemRandom::new();
    let new = || {
        let key = Ed25519KeyPair::generate_pkcs8(&chance).unwrap();
        Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap()
    };
    let (key, stranger) = (new(), new());
    let public = base64(key.public_key().as_ref());
    let jwks = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "k1", "x": public }] });
    let head = json!({ "alg": "EdDSA", "typ": "JWT", "kid": "k1" });
    let right = claims(&json!({}));
    let good = signed(&key, &head, &right);
    let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key.public_key().as_ref());
    let shared = unsigned(&json!({ "alg": "HS256", "typ": "JWT", "kid": "k1" }), &right);
    let shared = format!("{shared}.{}", base64(ring::hmac::sign(&secret, shared.as_bytes()).as_ref()));
    let mut bad = vec![
        shared,
        format!("{}.", unsigned(&json!({ "alg": "none", "typ": "JWT" }), &right)),
        signed(&stranger, &head, &right),
        signed(&key, &json!({ "alg": "EdDSA", "kid": "k2" }), &right),
        good[..good.len() - 4].to_owned(),
        "a.b".to_owned(),
        "..".to_owned(),
    ];
    // Numbers are seconds from now.
    for change in [
        json!({ "exp": -600 }),
        json!({ "exp": null }),
        json!({ "exp": "soon" }),
        json!({ "nbf": 600 }),
        json!({ "aud": "other" }),
        json!({ "aud": null }),
        json!({ "iss": "https://issuer.example" }),
        json!({ "iss": null }),
        json!({ "role": "king" }),
        json!({ "role": null }),
        json!({ "role": ["admin"] }),
    ] {
        bad.push(signed(&key, &head, &claims(&change)));
    }
    (good, bad, jwks)
}

#[tokio::test]
async fn tokens_that_prove_nothing() {
    let (good, bad, jwks) = tokens();
    for store in [Store::Sqlite, Store::Postgres] {
        let setup = Setup::new(store).await.config(JWT).file("jwks.json", jwks.to_string());
        let server = setup.start().await;
        server.request("GET", "/api/jobs").key(&good).send().await.expect(200);
        for token in &bad {
            let reply = server.request("GET", "/api/jobs").key(token).send().await;
            reply.problem(401, "unauthenticated");
        }
        server.request("GET", "/api/jobs").key(&good).send().await.expect(200);
        server.get("/api/jobs").await.problem(401, "unauthenticated");
    }
}

#[tokio::test]
async fn guessing_is_slowed_down() {
    let mut server = Server::sqlite().await;
    let made = server.post("/api/keys", &json!({ "role": "admin" })).await.expect(201);
    server.use_key(made["key"].as_str());
    let guesses = async {
        loop {
            let reply = server.request("GET", "/api/jobs").key("guess").send().await;
            if reply.status == 429 {
                return reply;
            }
            reply.problem(401, "unauthenticated");
        }
    };
    let reply = in_time("guesses are limited", guesses).await;
    let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!(Duration::from_secs(wait) <= Duration::from_mins(1));
    reply.problem(429, "rate_limited");
    server.get("/api/jobs").await.expect(200);
}
