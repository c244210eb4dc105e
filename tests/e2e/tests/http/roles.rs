//! Who may call what: keys, tokens, and every route by every role, on both stores.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tenure_e2e::{
    Reply, Server, Setup, Store, assert_fields, column, field_names, find, on_both_stores,
    on_both_stores_with_files, path, rows, sorted_words,
};

use crate::jobs::REVIEW_FILES;

const NOBODY: &str = "01990c3a-7d2e-7000-8000-000000000000";
const ROLES: [&str; 5] = ["producer", "worker", "operator", "viewer", "admin"];

/// A key of each role, in the order of [`ROLES`]; the producer's user is `u1`. From then on the server is closed, and is
/// asked with the admin's key.
async fn close(server: &mut Server) -> [String; 5] {
    let admin = new_key(server, json!({ "role": "admin" })).await;
    server.use_key(Some(&admin));
    let producer = new_key(server, json!({ "role": "producer", "user_id": "u1" })).await;
    let worker = new_key(server, json!({ "role": "worker" })).await;
    let operator = new_key(server, json!({ "role": "operator" })).await;
    let viewer = new_key(server, json!({ "role": "viewer" })).await;
    [producer, worker, operator, viewer, admin]
}

async fn new_key(server: &Server, body: Value) -> String {
    let made = server.post("/api/keys", &body).await.expect(201);
    made["key"].as_str().expect("a new key is shown").to_owned()
}

async fn get_as(server: &Server, key: &str, path: &str) -> Reply {
    server.request("GET", path).key(key).send().await
}

async fn post_as(server: &Server, key: &str, path: &str, body: &Value) -> Reply {
    server.request("POST", path).key(key).json(body).send().await
}

#[test]
fn the_first_key_must_be_an_admin_key_and_closes_the_server() {
    on_both_stores(async |mut server| {
        for role in ["producer", "worker", "operator", "viewer"] {
            let early = server.post("/api/keys", &json!({ "role": role, "user_id": "u" })).await;
            assert!((400..500).contains(&early.status), "{role}: {}", early.text);
        }
        assert_eq!(server.read("/api/keys").await["keys"], json!([]), "the server is open");
        let made = server.post("/api/keys", &json!({ "role": "admin" })).await.expect(201);
        let key = made["key"].as_str().unwrap().to_owned();

        let closed = server.get("/api/jobs").await;
        let challenge = closed.header("www-authenticate").map(str::to_owned);
        assert!(challenge.is_some_and(|value| value.starts_with("Bearer")));
        closed.problem(401, "unauthenticated");
        for bad in [format!("{key}x"), "nonsense".to_owned(), key[..key.len() - 1].to_owned()] {
            get_as(&server, &bad, "/api/jobs").await.problem(401, "unauthenticated");
        }
        let basic = server.request("GET", "/api/jobs").header("authorization", "Basic YTpi").send().await;
        basic.problem(401, "unauthenticated");
        server.read("/healthz").await;
        server.read("/readyz").await;

        server.use_key(Some(&key));
        let page = server.read("/api/keys").await;
        assert_eq!(
            field_names(&page["keys"][0]),
            sorted_words("id role user_id created_at created_by revoked_at")
        );
        assert!(!page.to_string().contains(&key), "a key is shown once");
        assert_eq!(page["keys"][0]["role"], "admin");
        server.post("/api/keys", &json!({ "role": "king" })).await.problem(400, "malformed");
        let nobody = server.post("/api/keys", &json!({ "role": "producer" })).await;
        assert!((400..500).contains(&nobody.status), "a producer is somebody's: {}", nobody.text);
        let audit = server.read("/api/audit").await;
        assert!(column(&audit["audit"], "action").contains(&json!("key_create")));
        // It stays closed after a restart.
        let mut server = server.restart().await;
        server.read("/api/jobs").await;
        server.use_key(None);
        server.get("/api/jobs").await.problem(401, "unauthenticated");
    });
}

#[test]
fn creating_a_key_is_idempotent() {
    on_both_stores(async |mut server| {
        let admin = new_key(&server, json!({ "role": "admin" })).await;
        server.use_key(Some(&admin));
        let ask =
            async |body: Value| server.request("POST", "/api/keys").idempotent("k").json(&body).send().await;
        let first = ask(json!({ "role": "viewer" })).await.expect(201);
        let again = ask(json!({ "role": "viewer" })).await;
        let again = again.expect_replay();
        assert_eq!((&again["id"], again.get("key")), (&first["id"], None));
        ask(json!({ "role": "operator" })).await.problem(422, "idempotency_mismatch");
        assert_eq!(rows(&server.read("/api/keys").await["keys"]).len(), 2);
    });
}

#[test]
fn a_revoked_key_is_refused_at_once() {
    on_both_stores(async |mut server| {
        let [_, _, _, viewer, _] = close(&mut server).await;
        let page = server.read("/api/keys").await;
        let row = find(&page["keys"], "role", "viewer");
        get_as(&server, &viewer, "/api/jobs").await.expect(200);
        let revoked = server.delete(&format!("/api/keys/{}", row["id"].as_str().unwrap())).await.expect(200);
        assert!(revoked["revoked_at"].is_string());
        let audit = server.read("/api/audit").await;
        let line = rows(&audit["audit"]).last().unwrap();
        assert_fields(&line, json!({ "action": "key_revoke", "reason": row["id"] }));
        get_as(&server, &viewer, "/api/jobs").await.problem(401, "unauthenticated");
        server.delete("/api/keys/nothing").await.problem(404, "not_found");
    });
}

#[tokio::test]
async fn a_key_revoked_on_one_node_is_refused_on_the_other() {
    let mut one = Server::postgres().await;
    let two = one.second_node().await;
    let admin = new_key(&one, json!({ "role": "admin" })).await;
    one.use_key(Some(&admin));
    for round in 0..3 {
        let made = one.post("/api/keys", &json!({ "role": "viewer" })).await.expect(201);
        let key = made["key"].as_str().unwrap();
        let both = [&one, &two];
        for node in both {
            let taken = get_as(node, key, "/api/jobs").await;
            assert_eq!(taken.status, 200, "round {round}, a key that was just made: {}", taken.text);
        }
        one.delete(&format!("/api/keys/{}", made["id"].as_str().unwrap())).await.expect(200);
        for node in both {
            let refused = get_as(node, key, "/api/jobs").await;
            assert_eq!(refused.status, 401, "round {round}: {}", refused.text);
        }
    }
}

#[tokio::test]
async fn the_first_key_closes_every_node() {
    let mut one = Server::postgres().await;
    let two = one.second_node().await;
    two.read("/api/jobs").await;
    let admin = new_key(&one, json!({ "role": "admin" })).await;
    two.get("/api/jobs").await.problem(401, "unauthenticated");
    get_as(&two, &admin, "/api/jobs").await.expect(200);
    one.use_key(Some(&admin));
    one.read("/api/jobs").await;
}

#[tokio::test]
async fn failed_authentication_is_rate_limited_without_blocking_others() {
    let mut server = Server::sqlite().await;
    let admin = new_key(&server, json!({ "role": "admin" })).await;
    server.use_key(Some("nonsense"));
    let mut statuses = Vec::new();
    for _ in 0..200 {
        let reply = server.get("/api/jobs").await;
        statuses.push(reply.status);
        if reply.status == 429 {
            assert!(
                reply
                    .header("retry-after")
                    .is_some_and(|wait| wait.parse::<u32>().is_ok_and(|wait| wait > 0))
            );
            reply.problem(429, "rate_limited");
            break;
        }
    }
    assert_eq!(statuses.pop(), Some(429));
    assert!(statuses.iter().all(|status| *status == 401));
    get_as(&server, &admin, "/api/jobs").await.expect(200);
}

/// Every call: who may, by the first letters of the roles. On a job, the producer's is its own, the worker's is held.
fn calls() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let hold = json!({ "worker": "w", "fence": 1 });
    let with = |more: Value| {
        let mut body = hold.clone();
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let nothing = json!({});
    vec![
        ("GET", "/api/jobs", Value::Null, "pwova"),
        ("GET", "/api/jobs/{id}", Value::Null, "pwova"),
        ("GET", "/api/jobs/{id}/events", Value::Null, "pwova"),
        ("GET", "/api/jobs/{id}/replay?seq=1", Value::Null, "pwova"),
        ("GET", "/api/jobs/{id}/explain", Value::Null, "pwova"),
        ("GET", "/api/jobs/{id}/logs", Value::Null, "pwova"),
        ("GET", "/api/types", Value::Null, "pwova"),
        ("GET", "/api/lifecycles", Value::Null, "pwova"),
        ("GET", "/api/lifecycles/so1", Value::Null, "pwova"),
        ("GET", "/api/lifecycles/so1/diagram.svg", Value::Null, "pwova"),
        ("GET", "/api/dead-letters", Value::Null, "pova"),
        ("GET", "/api/accounts/u1/credits", Value::Null, "pova"),
        ("GET", "/api/workers", Value::Null, "ova"),
        ("GET", "/api/queues", Value::Null, "ova"),
        ("GET", "/api/audit", Value::Null, "ova"),
        ("GET", "/api/stats", Value::Null, "ova"),
        ("GET", "/api/keys", Value::Null, "a"),
        ("POST", "/api/jobs", json!({ "type": "new" }), "poa"),
        ("POST", "/api/jobs/batch", json!({ "jobs": [] }), "poa"),
        ("POST", "/api/jobs/{id}/cancel", nothing.clone(), "poa"),
        ("POST", "/api/jobs/{id}/retry", nothing.clone(), "poa"),
        ("POST", "/api/jobs/{id}/signals/go", nothing.clone(), "poa"),
        ("POST", "/api/jobs/{id}/logs", json!({ "lines": [{ "text": "x" }] }), "poa"),
        ("POST", "/api/jobs/{id}/logs", with(json!({ "lines": [{ "text": "x" }] })), "woa"),
        ("POST", "/api/claims", json!({ "worker": "w", "max": 1, "types": ["none"] }), "woa"),
        ("POST", "/api/reports", json!({ "worker": "w", "reports": [] }), "woa"),
        ("POST", "/api/jobs/{id}/start", hold.clone(), "woa"),
        ("POST", "/api/jobs/{id}/heartbeat", hold.clone(), "woa"),
        ("POST", "/api/jobs/{id}/progress", with(json!({ "progress": 1 })), "woa"),
        ("POST", "/api/jobs/{id}/succeed", hold.clone(), "woa"),
        ("POST", "/api/jobs/{id}/partial", hold.clone(), "woa"),
        ("POST", "/api/jobs/{id}/fail", with(json!({ "error": {} })), "woa"),
        ("POST", "/api/jobs/{id}/reject", with(json!({ "reason": "" })), "woa"),
        ("POST", "/api/jobs/{id}/reject", json!({ "reason": "" }), "oa"),
        ("POST", "/api/jobs/{id}/release", hold.clone(), "woa"),
        ("POST", "/api/jobs/{id}/cancel-confirm", hold.clone(), "woa"),
        ("POST", "/api/jobs/{id}/dead-letter", json!({ "reason_code": "timeout", "detail": "" }), "oa"),
        ("POST", "/api/jobs/actions", json!({ "action": "cancel", "filter": { "type": "none" } }), "oa"),
        ("POST", "/api/dead-letters/redrive", json!({ "ids": [] }), "oa"),
        ("POST", "/api/dead-letters/{id}/dismiss", json!({ "reason": "" }), "oa"),
        ("POST", "/api/queues/none/pause", nothing.clone(), "oa"),
        ("POST", "/api/queues/none/resume", nothing, "oa"),
        ("POST", "/api/accounts/u1/credits", json!({ "grant": 1, "reason": "" }), "oa"),
        ("POST", "/api/keys", json!({ "role": "viewer" }), "a"),
        ("DELETE", "/api/keys/nothing", Value::Null, "a"),
    ]
}

/// The same for what is set up once and then goes on by itself.
fn order_calls() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    vec![
        ("GET", "/api/schedules", Value::Null, "ova"),
        ("GET", "/api/schedules/nothing", Value::Null, "ova"),
        ("POST", "/api/schedules", json!({ "cron": "0 0 1 1 *", "job": { "type": "new" } }), "oa"),
        ("POST", "/api/schedules/nothing/pause", json!({}), "oa"),
        ("POST", "/api/schedules/nothing/resume", json!({}), "oa"),
        ("DELETE", "/api/schedules/nothing", Value::Null, "oa"),
        ("GET", "/api/webhooks", Value::Null, "ova"),
        ("GET", "/api/webhooks/nothing", Value::Null, "ova"),
        ("POST", "/api/webhooks", json!({ "url": "http://localhost/" }), "oa"),
        ("POST", "/api/webhooks/nothing/enable", json!({}), "oa"),
        ("DELETE", "/api/webhooks/nothing", Value::Null, "oa"),
    ]
}

#[test]
fn every_route_accepts_only_its_roles() {
    on_both_stores(async |mut server| {
        let keys = close(&mut server).await;
        let mut wrong = Vec::new();
        for (method, pattern, body, may) in calls().into_iter().chain(order_calls()) {
            for (role, key) in ROLES.iter().zip(&keys) {
                let job = server.create(json!({ "type": "job", "user_id": "u1" })).await;
                if *role == "worker" {
                    let claim = json!({ "worker": "w", "max": 1, "types": ["job"] });
                    let claimed = post_as(&server, key, "/api/claims", &claim).await.expect(200);
                    assert_eq!(claimed["jobs"][0]["id"], job["id"]);
                }
                let path = pattern.replace("{id}", job["id"].as_str().unwrap());
                let request = server.request(method, &path).key(key);
                let request = if body.is_null() { request } else { request.json(&body) };
                let reply = request.send().await;
                let is_right = if may.contains(&role[..1]) {
                    ![401, 403].contains(&reply.status) && reply.status < 500
                } else {
                    reply.status == 403 && reply.body["code"] == "forbidden"
                };
                if !is_right {
                    wrong.push(format!("{role}: {method} {pattern} {body}: {} {}", reply.status, reply.text));
                }
                server.post(&self::path(&job, "cancel"), &json!({ "mode": "hard" })).await;
            }
        }
        assert!(wrong.is_empty(), "{:?}:\n{}", server.store(), wrong.join("\n"));
    });
}

#[test]
fn a_producer_sees_only_its_own_jobs() {
    on_both_stores_with_files(REVIEW_FILES, async |mut server| {
        let [producer, ..] = close(&mut server).await;
        let own = post_as(&server, &producer, "/api/jobs", &json!({ "type": "a" })).await.expect(202);
        assert_eq!(own["user_id"], "u1", "its user is the key's");
        let foreign = server.create(json!({ "type": "a", "user_id": "u2" })).await;
        let nobodys = server.create(json!({ "type": "a" })).await;
        let missing = json!({ "id": NOBODY });
        for call in ["", "events", "replay", "explain", "logs", "stream"] {
            get_as(&server, &producer, &path(&missing, call)).await.problem(404, "not_found");
            for other in [&foreign, &nobodys] {
                get_as(&server, &producer, &path(other, call)).await.problem(403, "forbidden");
            }
            if call != "stream" {
                get_as(&server, &producer, &path(&own, call)).await.expect(200);
            }
        }
        let posts = [
            ("cancel", json!({})),
            ("retry", json!({})),
            ("signals/approve", json!({})),
            ("logs", json!({ "lines": [{ "text": "x" }] })),
        ];
        for (call, body) in &posts {
            post_as(&server, &producer, &path(&missing, call), body).await.problem(404, "not_found");
            for other in [&foreign, &nobodys] {
                post_as(&server, &producer, &path(other, call), body).await.problem(403, "forbidden");
            }
        }
        assert_eq!(server.job(&foreign).await["state"], "queued");
        let other = json!({ "type": "a", "user_id": "u2" });
        post_as(&server, &producer, "/api/jobs", &other).await.problem(403, "forbidden");
        let batch = json!({ "jobs": [{ "type": "b" }, { "type": "b", "user_id": "u2" }] });
        let results = post_as(&server, &producer, "/api/jobs/batch", &batch).await.expect(200);
        assert_eq!(results["results"][0]["ok"]["user_id"], "u1");
        assert_eq!(results["results"][1]["error"]["code"], "forbidden");

        let jobs = get_as(&server, &producer, "/api/jobs").await.expect(200);
        assert!(column(&jobs["jobs"], "user_id").iter().all(|user| user == "u1"), "others are left out");
        assert_eq!(rows(&jobs["jobs"]).len(), 2);
        let feed = get_as(&server, &producer, "/api/events").await.expect(200);
        assert_eq!(rows(&feed["events"]).len(), 2, "in feeds too");
        for job in [&own, &foreign] {
            let body = json!({ "reason_code": "timeout", "detail": "" });
            server.call(job, "dead-letter", &body).await.expect(200);
        }
        let letters = get_as(&server, &producer, "/api/dead-letters").await.expect(200);
        assert_eq!(column(&letters["dead_letters"], "job_id"), [own["id"].clone()]);
        get_as(&server, &producer, "/api/accounts/u1/credits").await.expect(200);
        get_as(&server, &producer, "/api/accounts/u2/credits").await.problem(403, "forbidden");
    });
}

#[test]
fn a_worker_sees_only_the_jobs_it_holds() {
    on_both_stores(async |mut server| {
        let [_, worker, ..] = close(&mut server).await;
        let other = new_key(&server, json!({ "role": "worker" })).await;
        let job = server.create(json!({ "type": "a" })).await;
        get_as(&server, &worker, &path(&job, "")).await.problem(403, "forbidden");
        let claim = json!({ "worker": "w", "max": 1, "start": true });
        let taken = post_as(&server, &worker, "/api/claims", &claim).await.expect(200);
        assert_eq!(taken["jobs"][0]["id"], job["id"]);
        for call in ["", "events", "replay", "explain", "logs"] {
            get_as(&server, &worker, &path(&job, call)).await.expect(200);
            get_as(&server, &other, &path(&job, call)).await.problem(403, "forbidden");
            get_as(&server, &other, &path(&json!({ "id": NOBODY }), call)).await.problem(404, "not_found");
        }
        server.create(json!({ "type": "b" })).await;
        let seen = get_as(&server, &worker, "/api/jobs").await.expect(200);
        assert_eq!(column(&seen["jobs"], "id"), [job["id"].clone()], "others are left out");
        assert_eq!(get_as(&server, &other, "/api/jobs").await.expect(200)["jobs"], json!([]));
    });
}

#[test]
fn using_a_workers_name_does_not_give_access_to_its_jobs() {
    on_both_stores(async |mut server| {
        let [_, worker, ..] = close(&mut server).await;
        let other = new_key(&server, json!({ "role": "worker" })).await;
        let job = server.create(json!({ "type": "a" })).await;
        post_as(&server, &worker, "/api/claims", &json!({ "worker": "w", "max": 1 })).await.expect(200);
        let claim = json!({ "worker": "w", "max": 1, "types": ["none"] });
        post_as(&server, &other, "/api/claims", &claim).await;
        get_as(&server, &other, &path(&job, "")).await.problem(403, "forbidden");
        get_as(&server, &worker, &path(&job, "")).await.expect(200);
    });
}

#[test]
fn a_worker_reads_only_events_of_jobs_it_holds() {
    on_both_stores(async |mut server| {
        let [_, worker, ..] = close(&mut server).await;
        let job = server.create(json!({ "type": "a" })).await;
        post_as(&server, &worker, "/api/claims", &json!({ "worker": "w", "max": 1 })).await.expect(200);
        server.create(json!({ "type": "b" })).await;
        let feed = get_as(&server, &worker, "/api/events").await.expect(200);
        assert!(column(&feed["events"], "job_id").iter().all(|id| *id == job["id"]), "{feed}");
    });
}

#[tokio::test]
async fn the_jobs_of_a_worker_are_known_on_every_node() {
    let mut one = Server::postgres().await;
    let [_, worker, ..] = close(&mut one).await;
    let two = one.second_node().await;
    let job = one.create(json!({ "type": "a" })).await;
    post_as(&one, &worker, "/api/claims", &json!({ "worker": "w", "max": 1 })).await.expect(200);
    get_as(&two, &worker, &path(&job, "")).await.expect(200);
}

#[test]
fn events_name_the_caller() {
    on_both_stores(async |mut server| {
        let [producer, worker, operator, ..] = close(&mut server).await;
        let job = post_as(&server, &producer, "/api/jobs", &json!({ "type": "a" })).await.expect(202);
        let claim = json!({ "worker": "w", "max": 1, "start": true });
        post_as(&server, &worker, "/api/claims", &claim).await.expect(200);
        let hard = json!({ "mode": "hard", "reason": "enough" });
        post_as(&server, &operator, &path(&job, "cancel"), &hard).await.expect(200);
        let events = server.read(&path(&job, "events")).await;
        let actors = column(&events["events"], "actor");
        assert_eq!((&actors[0], &actors[1]), (&json!("user:u1"), &json!("worker:w")));
        assert!(actors[3].as_str().is_some_and(|actor| actor.starts_with("operator:")), "{actors:?}");
        let audit = server.read("/api/audit").await;
        let line = find(&audit["audit"], "action", "cancel");
        assert_fields(&line, json!({ "actor": actors[3], "reason": "enough" }));
    });
}

/// Signs tokens.
struct Issuer(Ed25519KeyPair);

impl Issuer {
    fn new() -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self(Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap())
    }

    fn jwks(&self) -> String {
        let x = URL_SAFE_NO_PAD.encode(self.0.public_key().as_ref());
        json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "k1", "use": "sig", "x": x }] }).to_string()
    }

    fn token(&self, claims: &Value) -> String {
        let header = json!({ "alg": "EdDSA", "typ": "JWT", "kid": "k1" });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(&header), part(claims));
        let signature = URL_SAFE_NO_PAD.encode(self.0.sign(message.as_bytes()).as_ref());
        format!("{message}.{signature}")
    }
}

#[tokio::test]
async fn a_token_of_the_issuer_works_like_a_key() {
    let config =
        "[auth.jwt]\nissuer = \"https://login.example.com/\"\naudience = \"tenure\"\njwks = \"jwks.json\"\n";
    for store in Store::ALL {
        let issuer = Issuer::new();
        let setup = Setup::new(store).await.config(config).file("jwks.json", issuer.jwks());
        let server = setup.start().await;
        server.get("/api/jobs").await.problem(401, "unauthenticated");
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let good = |role: &str| {
            json!({ "iss": "https://login.example.com/", "aud": "tenure", "sub": "u1", "role": role,
                    "iat": now, "exp": now + 300 })
        };
        for role in ROLES {
            get_as(&server, &issuer.token(&good(role)), "/api/jobs").await.expect(200);
        }
        let producer = issuer.token(&good("producer"));
        let job = post_as(&server, &producer, "/api/jobs", &json!({ "type": "a" })).await.expect(202);
        assert_eq!(job["user_id"], "u1");
        let other = json!({ "type": "a", "user_id": "u2" });
        post_as(&server, &producer, "/api/jobs", &other).await.problem(403, "forbidden");
        post_as(&server, &issuer.token(&good("viewer")), &path(&job, "cancel"), &json!({}))
            .await
            .problem(403, "forbidden");
        get_as(&server, &issuer.token(&good("admin")), "/api/keys").await.expect(200);

        let but = |member: &str, value: Value| {
            let mut claims = good("admin");
            claims[member] = value;
            issuer.token(&claims)
        };
        let stranger = Issuer::new().token(&good("admin"));
        let mut bad = vec![
            but("exp", json!(now - 3600)),
            but("nbf", json!(now + 3600)),
            but("aud", json!("other")),
            but("iss", json!("https://evil.example.com/")),
            but("role", json!("king")),
            but("role", Value::Null),
            but("exp", Value::Null),
            stranger,
        ];
        let token = issuer.token(&good("admin"));
        let mut parts: Vec<&str> = token.split('.').collect();
        let unsigned = URL_SAFE_NO_PAD.encode(json!({ "alg": "none", "typ": "JWT" }).to_string());
        bad.push(format!("{unsigned}.{}.", parts[1]));
        let changed = URL_SAFE_NO_PAD.encode(good("operator").to_string());
        parts[1] = &changed;
        bad.push(parts.join("."));
        for token in &bad {
            get_as(&server, token, "/api/jobs").await.problem(401, "unauthenticated");
        }
    }
}

#[test]
fn streams_end_when_their_key_is_revoked() {
    on_both_stores(async |mut server| {
        let [_, _, _, viewer, admin] = close(&mut server).await;
        let page = server.read("/api/keys").await;
        let row = find(&page["keys"], "role", "viewer");
        let job = server.create(json!({ "type": "a" })).await;
        server.use_key(Some(&viewer));
        let mut feed = server.stream("/api/events", None).await;
        feed.next().await.expect("the creation");
        let mut log = server.stream(&path(&job, "stream"), None).await;
        server.use_key(Some(&admin));
        server.delete(&format!("/api/keys/{}", row["id"].as_str().unwrap())).await.expect(200);
        server.call(&job, "logs", &json!({ "lines": [{ "text": "secret" }] })).await.expect(200);
        server.create(json!({ "type": "secret" })).await;
        assert_eq!((feed.next().await, log.next().await), (None, None), "nothing more is told");
    });
}
