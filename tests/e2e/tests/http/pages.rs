//! Health, metrics, the API description, problem pages, TLS and HTTP/2.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::header::HeaderName;
use reqwest::{Certificate, Version};
use serde_json::{Value, json};
use tenure_api::CallId;
use tenure_e2e::*;

const CODES: &str = "malformed insufficient_credits invalid_transition lease_conflict not_found method_not_allowed \
     too_large unsupported_media_type unknown_type validation_failed guard_rejected idempotency_mismatch misdirected \
     forbidden rate_limited overloaded store_unavailable unauthenticated";

#[test]
fn health_and_readiness_are_answered() {
    on_both_stores(async |server| {
        server.read("/healthz").await;
        server.read("/readyz").await;
        let first = server.logs().lines().find(|line| line.starts_with("tenure ")).map(str::to_owned);
        assert!(first.is_some_and(|line| line.contains(server.url())), "{}", server.logs());
    });
}

#[test]
fn a_browser_is_redirected_to_the_dashboard() {
    on_both_stores(async |server| {
        for path in ["/", "/ui", "/ui/"] {
            let page = server.get(path).await;
            assert!(page.status == 200 && page.text.contains("<h1>Overview</h1>"), "{path}: {}", page.text);
        }
    });
}

#[test]
fn counters_start_at_zero() {
    on_both_stores(async |server| {
        let all = server.metrics().await;
        let counters = "claims_total claim_conflicts_total lease_renewals_total lease_expiries_total retries_total \
                        failures_total transitions_total dead_letters oldest_dead_letter_seconds credits_imbalance";
        for counter in counters.split_whitespace() {
            assert_eq!(all.sum(&format!("tenure_{counter}"), &[]), Some(0.0), "{counter}");
        }
        let failures = ["category=\"engine\"", "class=\"transient\""];
        assert_eq!(all.sum("tenure_failures_total", &failures), Some(0.0));
        let move_ = ["lifecycle=\"distributed\"", "from=\"queued\"", "to=\"assigned\""];
        assert_eq!(all.sum("tenure_transitions_total", &move_), Some(0.0));
    });
}

#[test]
fn metrics_count_what_happens() {
    let config = r#"
[types.a]
lifecycle = "distributed"
backoff = { base = "0s", factor = 1.0, max = "0s", jitter = "none" }
[types.short]
lifecycle = "distributed"
lease = "1s"
heartbeat = "10s"
max_attempts = 1
"#;
    on_both_stores_with_config(config, async |server| {
        let claimed = server.create_claimed(json!({ "type": "a", "max_attempts": 2, "queue": "q1" })).await;
        server.report_ok(&claimed, "fail", json!({ "error": { "category": "system" } })).await;
        server.report(&claimed, "succeed", json!({})).await.problem(409, "lease_conflict");
        let claimed = server.claim_next().await;
        server.succeed(&claimed).await;
        let lost = server.create_claimed(json!({ "type": "short" })).await;
        server.job_when(&lost, "outcome", "dead").await;
        server.create(json!({ "type": "a", "queue": "q1" })).await;
        // A count of finished jobs that overlaps with a commit is corrected by the next one.
        eventually("finished jobs are counted once", async || {
            let labels = ["lifecycle=\"distributed\"", "state=\"succeeded\""];
            server.metrics().await.sum("tenure_jobs", &labels) == Some(1.0)
        })
        .await;
        let all = server.metrics().await;
        let is = |name: &str, labels: &[&str], value: f64| {
            assert_eq!(all.sum(name, labels), Some(value), "{:?} {name} {labels:?}", server.store());
        };
        is("tenure_claims_total", &[], 3.0);
        is("tenure_claims_total", &["type=\"a\""], 2.0);
        is("tenure_claim_conflicts_total", &[], 1.0);
        is("tenure_retries_total", &[], 1.0);
        is("tenure_lease_expiries_total", &[], 1.0);
        is("tenure_failures_total", &["category=\"system\"", "class=\"transient\""], 2.0);
        is(
            "tenure_transitions_total",
            &["lifecycle=\"distributed\"", "from=\"running\"", "to=\"succeeded\""],
            1.0,
        );
        is("tenure_dead_letters", &[], 1.0);
        is("tenure_jobs", &["lifecycle=\"distributed\"", "state=\"queued\""], 1.0);
        is("tenure_jobs", &["lifecycle=\"distributed\"", "state=\"succeeded\""], 1.0);
        is("tenure_wait_seconds_count", &["type=\"a\""], 2.0);
        is("tenure_run_seconds_count", &["type=\"a\""], 1.0);
        assert!(all.sum("tenure_oldest_ready_seconds", &["queue=\"q1\"", "type=\"a\""]).is_some());
        assert!(all.sum("tenure_oldest_dead_letter_seconds", &[]).is_some_and(|age| age >= 0.0));
    });
}

#[tokio::test]
async fn every_problem_code_has_a_page() {
    let server = Server::sqlite().await;
    for code in CODES.split_whitespace() {
        let path = format!("/problems/{code}");
        let page = server.get(&path).await;
        assert_eq!(page.status, 200, "{code}");
        assert!(page.text.len() > 100, "{code} says what to do: {}", page.text);
        let html = server.request("GET", &path).header("accept", "text/html").send().await;
        assert!(html.header("content-type").is_some_and(|kind| kind.starts_with("text/html")), "{code}");
    }
    server.get("/problems/boredom").await.problem(404, "not_found");
}

#[tokio::test]
async fn the_api_description_and_its_page_are_served() {
    let server = Server::sqlite().await;
    let reply = server.get("/openapi.json").await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let source: Value = serde_json::from_str(tenure_api::OPENAPI).unwrap();
    // The lifecycle APIs are added to it.
    let answer = reply.expect(200);
    for (path, item) in source["paths"].as_object().unwrap() {
        assert_eq!(&answer["paths"][path], item, "{path}");
    }
    for (name, schema) in source["components"]["schemas"].as_object().unwrap() {
        assert_eq!(&answer["components"]["schemas"][name], schema, "{name}");
    }
    assert!(source["openapi"].as_str().is_some_and(|version| version.starts_with("3.1")));
    let docs = server.get("/docs").await;
    assert_eq!(docs.status, 200);
    assert!(docs.header("content-type").is_some_and(|kind| kind.starts_with("text/html")));
}

/// Every path of the table and its methods.
fn described() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut described: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for call in CallId::ALL.iter().map(|id| id.call()) {
        described.entry(call.path).or_default().insert(call.method.as_str());
    }
    described
}

#[test]
fn only_described_routes_exist() {
    on_both_stores(async |server| {
        let claimed = server.create_claimed(json!({ "type": "a" })).await;
        server.succeed(&claimed).await;
        let id = id(&claimed);
        for (pattern, methods) in described() {
            let path = pattern.replace("{id}", id).replace("{job}", id).replace("{code}", "malformed");
            let path = path
                .replace("{name}", "so1")
                .replace("{user}", "u1")
                .replace("{asset}", id)
                .replace("{type}", "a")
                .replace("{key}", "k");
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
                let reply = server.request(method, &path).send().await;
                if methods.contains(method) {
                    let is_there = reply.status != 405 && (reply.status != 404 || pattern.contains('{'));
                    let detail = reply.body["detail"].as_str().unwrap_or_default();
                    let is_there = is_there && !detail.starts_with("there is nothing at");
                    assert!(is_there && reply.status < 500, "{method} {pattern}: {reply:?}");
                } else {
                    let allow = reply.header("allow").unwrap_or_default().split(',').map(str::trim);
                    let allowed: BTreeSet<&str> = allow.filter(|it| *it != "HEAD").collect();
                    assert_eq!(allowed, methods, "{method} {pattern}");
                    reply.problem(405, "method_not_allowed");
                }
            }
        }
        for nowhere in ["/api", "/api/job", "/api/jobs/x/y/z", "/nothing", "/api/jobs/"] {
            let reply = server.get(nowhere).await;
            assert!(nowhere == "/api/jobs/" || reply.status == 404, "{nowhere}: {}", reply.status);
        }
        server.get("/nothing").await.problem(404, "not_found");
    });
}

#[test]
fn every_call_of_the_specification_is_described() {
    let plain = |path: &str| {
        let parts = path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part });
        parts.collect::<Vec<_>>().join("/")
    };
    let calls = CallId::ALL.iter().map(|id| id.call());
    let known: Vec<String> =
        calls.map(|call| format!("{} {}", call.method.as_str(), plain(call.path))).collect();
    for call in include_str!("fixtures/specified_calls.txt").lines() {
        assert!(known.iter().any(|other| other == call), "{call} is not described");
    }
}

#[test]
fn an_open_server_checks_host_and_origin() {
    on_both_stores(async |server| {
        let port = server.address().rsplit_once(':').unwrap().1.to_owned();
        let ask = async |host: &str| server.request("GET", "/api/jobs").header("host", host).send().await;
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            ask(&format!("{host}:{port}")).await.expect(200);
        }
        for host in ["evil.example.com", "localhost.evil.example.com", "127.0.0.1.nip.io"] {
            ask(host).await.problem(421, "misdirected");
        }
        let own = server.url().to_owned();
        server.request("GET", "/api/jobs").header("origin", &own).send().await.expect(200);
        for origin in ["https://evil.example.com", "null", "http://127.0.0.1:1"] {
            let body = json!({ "type": "a" });
            let ask = server.request("POST", "/api/jobs").header("origin", origin).json(&body);
            ask.send().await.problem(403, "forbidden");
        }
        assert_eq!(server.read("/api/jobs").await["jobs"], json!([]));
    });
}

#[test]
fn http2_without_tls_works_beside_http1() {
    let client = http_client().http2_prior_knowledge().build().unwrap();
    on_both_stores_with_setup(
        |setup| setup.client(client.clone()),
        async |server| {
            let response = server.request("GET", "/api/jobs").open().await;
            assert_eq!((response.status().as_u16(), response.version()), (200, Version::HTTP_2));
            let job = server.create(json!({ "type": "a" })).await;
            let stream = server.stream(&path(&job, "stream"), None).await;
            // Concurrent requests on one connection, with a stream.
            let asks = (0..20).map(|_| server.get("/api/jobs"));
            for reply in futures_util::future::join_all(asks).await {
                reply.expect(200);
            }
            server.call_ok(&job, "cancel", &json!({})).await;
            assert_eq!(stream.rest().await.len(), 1);
            let long = server.request("GET", "/api/jobs").header("x-long", &"x".repeat(20_000)).send().await;
            assert_eq!(long.problem(431, "headers_too_large")["limit"], 16 << 10);
            let get = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
            let plain = server.raw(get).await;
            assert!(plain.starts_with("HTTP/1.1 200"), "{plain}");
        },
    );
}

#[test]
fn tls_works_with_the_configured_certificate() {
    let authority = Certificate::from_pem(include_bytes!("tls/ca.pem")).unwrap();
    let config = "[tls]\ncertificate = \"certificate.pem\"\nkey = \"key.pem\"\n";
    let trusting = http_client().tls_certs_only([authority]).build().unwrap();
    let with_tls = |setup: Setup| {
        let setup = setup.config(config).client(trusting.clone());
        let setup = setup.file("certificate.pem", include_str!("tls/certificate.pem"));
        setup.file("key.pem", include_str!("tls/key.pem"))
    };
    on_both_stores_with_setup(with_tls, async |server| {
        assert!(server.url().starts_with("https://"), "{}", server.url());
        let response = server.request("GET", "/api/jobs").open().await;
        assert_eq!((response.status().as_u16(), response.version()), (200, Version::HTTP_2));
        assert_eq!(response.headers()["strict-transport-security"], "max-age=31536000");
        server.create_finished(json!({ "type": "a" })).await;
        // Without TLS there is no answer, and a client without the authority refuses the certificate.
        let clear = server.raw(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        assert!(!clear.contains("200 OK"), "{clear}");
        let wary = http_client().tls_certs_only([]).build().unwrap();
        assert!(wary.get(format!("{}/healthz", server.url())).send().await.is_err());
        server.read("/healthz").await;
    });
}

#[tokio::test]
async fn every_response_has_security_headers_and_none_grants_access_to_other_origins() {
    let mut server = Server::sqlite().await;
    server.use_admin_key().await;
    let paths =
        "/api/jobs /api/nothing /healthz /metrics /openapi.json /docs /problems/malformed /ui /ui/nothing";
    for path in paths.split_whitespace() {
        let request = server.request("GET", path).header("origin", "https://evil.example");
        let reply = request.header("accept", "text/html").send().await;
        let header = |name: &str| reply.header(name).unwrap_or_default();
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("cache-control"), "no-store", "{path}");
        let referrer = if path.starts_with("/ui") { "same-origin" } else { "no-referrer" };
        assert_eq!(header("referrer-policy"), referrer, "{path}");
        if !path.starts_with("/api") {
            let policy = header("content-security-policy");
            assert!(
                policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"),
                "{path}"
            );
            assert!(!policy.contains("unsafe"), "{path}: {policy}");
        }
        let revealing = reply.headers.keys().map(HeaderName::as_str);
        let revealing: Vec<&str> =
            revealing.filter(|name| *name == "server" || name.starts_with("access-control")).collect();
        assert_eq!(revealing, Vec::<&str>::new(), "{path}");
    }
    let preflight = server.request("OPTIONS", "/api/jobs").header("origin", "https://evil.example");
    let preflight = preflight.header("access-control-request-method", "POST").send().await;
    assert_eq!(preflight.header("access-control-allow-origin"), None);
    preflight.problem(405, "method_not_allowed");
}
