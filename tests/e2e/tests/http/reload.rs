//! SIGHUP: the configuration is loaded again, and applied as a whole or not at all.

use std::sync::{Arc, Mutex};

use reqwest::{Certificate, Client};
use serde_json::json;
use tenure_e2e::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::roles::tokens::Issuer;

const TLS: &str = "[tls]\ncertificate = \"certificate.pem\"\nkey = \"key.pem\"\n";

/// A new client, without connections, that accepts certificates of this authority only.
fn client_of(authority: &[u8]) -> Client {
    http_client().tls_certs_only([Certificate::from_pem(authority).unwrap()]).build().unwrap()
}

#[test]
fn a_new_certificate_is_used_for_new_connections_and_old_ones_continue() {
    let [first, second] = [&include_bytes!("tls/ca.pem")[..], &include_bytes!("tls/second_ca.pem")[..]];
    let with_tls = |setup: Setup| {
        let setup = setup.config(TLS).client(client_of(first));
        let setup = setup.file("certificate.pem", include_str!("tls/certificate.pem"));
        setup.file("key.pem", include_str!("tls/key.pem"))
    };
    on_both_stores_with_setup(with_tls, async |server| {
        let healthy = async |client: Client| {
            client.get(format!("{}/healthz", server.url())).send().await.is_ok_and(|it| it.status() == 200)
        };
        server.create(json!({ "type": "a" })).await;
        assert!(healthy(client_of(first)).await && !healthy(client_of(second)).await);
        server.reload_with(&[("certificate.pem", include_str!("tls/second_certificate.pem"))]).await;
        assert!(
            healthy(client_of(first)).await,
            "the key does not belong to the certificate: nothing changes"
        );
        assert!(server.logs().contains("cannot use tls.certificate"), "{}", server.logs());
        server.reload_with(&[("key.pem", include_str!("tls/second_key.pem"))]).await;
        assert!(healthy(client_of(second)).await, "{}", server.logs());
        assert!(!healthy(client_of(first)).await, "a new handshake has the new certificate");
        // This client would refuse the new certificate, so it uses the connection that it has.
        assert_eq!(server.list("type=a").await.len(), 1);
    });
}

#[test]
fn a_broken_configuration_changes_nothing_and_the_log_says_why() {
    on_both_stores_with_config("[types.a]\nlifecycle = \"distributed\"\n", async |server| {
        let broken = "[types.b]\nlifecycle = \"distributed\"\n[limits]\npayload = \"1 B\"\nconections = 1\n";
        server.reload_with(&[("tenure.toml", broken)]).await;
        let logs = server.logs();
        assert!(logs.contains("unknown setting `conections`") && logs.contains("tenure.toml:5:1"), "{logs}");
        assert_eq!(server.column("/api/types", "name").await, [json!("a")]);
        server.post("/api/jobs", &json!({ "type": "b" })).await.problem(422, "unknown_type");
        server.create(json!({ "type": "a", "payload": [1, 2, 3] })).await;
        let gate = include_str!("../cli/fixtures/gate.toml");
        let lifecycles = "lifecycles = [\"gate.toml\"]\n[types.a]\nlifecycle = \"gate\"\n";
        server.reload_with(&[("tenure.toml", lifecycles), ("gate.toml", gate)]).await;
        assert_eq!(server.rows("/api/types").await[0]["lifecycle"], "gate");
        // The text of a registered version cannot change: the type of the same configuration is not applied either.
        let more = format!("{lifecycles}[types.c]\nlifecycle = \"gate\"\n");
        server.reload_with(&[("tenure.toml", &more), ("gate.toml", &format!("{gate}\n# Changed.\n"))]).await;
        assert_eq!(server.column("/api/types", "name").await, [json!("a")], "{}", server.logs());
        server.reload_with(&[("gate.toml", gate)]).await;
        assert_eq!(server.column("/api/types", "name").await, [json!("a"), json!("c")], "{}", server.logs());
    });
}

#[test]
fn changed_types_limits_and_log_levels_apply() {
    on_both_stores_with_config("[log]\nfilter = \"warn\"\n", async |server| {
        let old = server.create(json!({ "type": "old", "payload": "longer than ten bytes" })).await;
        let config = "[log]\nfilter = \"info\"\n[limits]\npayload = \"10 B\"\nbody = \"1 KiB\"\n\
            [types.new]\nlifecycle = \"engine\"\nguard = \"payload != 0\"\n";
        server.reload_with(&[("tenure.toml", config)]).await;
        assert!(server.logs().contains("configuration reloaded"), "the level is info: {}", server.logs());
        server.post("/api/jobs", &json!({ "type": "old" })).await.problem(422, "unknown_type");
        let long = json!({ "type": "new", "payload": "longer than ten bytes" });
        assert_eq!(server.post("/api/jobs", &long).await.problem(413, "too_large")["limit"], 10);
        let longer = json!({ "jobs": [{ "type": "new", "payload": "x".repeat(1024) }] });
        assert_eq!(server.post("/api/jobs/batch", &longer).await.problem(413, "too_large")["limit"], 1024);
        server
            .post("/api/jobs", &json!({ "type": "new", "payload": 0 }))
            .await
            .problem(422, "guard_rejected");
        assert_eq!(server.create(json!({ "type": "new", "payload": 1 })).await["lifecycle"], "engine");
        let metrics = server.metrics().await;
        assert_eq!(
            metrics.sum("tenure_claims_total", &["type=\"new\""]),
            Some(0.0),
            "it has its own counters"
        );
        assert_eq!(server.job(&old).await["payload"], "longer than ten bytes", "stored jobs are as before");
    });
}

#[test]
fn settings_that_need_a_restart_are_named_and_the_others_apply() {
    on_both_stores_with_config("", async |server| {
        let config = "[log]\nformat = \"json\"\n[assets]\nstore = \"file:elsewhere\"\n[types.a]\nlifecycle = \"engine\"\n";
        server.reload_with(&[("tenure.toml", &format!("{config}{TLS}"))]).await;
        let logs = server.logs();
        let warning = "configuration reload: setting needs a restart";
        let named = "settings=\"assets.store, tls.certificate, tls.key, log.format\"";
        let lines: Vec<&str> = logs.lines().filter(|line| line.contains(warning)).collect();
        assert!(matches!(lines[..], [line] if line.contains(named) && line.contains("WARN")), "{logs}");
        assert_eq!(server.column("/api/types", "name").await, [json!("a")]);
    });
}

/// A server of a JWKS whose text can be replaced.
async fn serve_jwks(text: &Arc<Mutex<String>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (url, text) = (format!("http://{}/jwks", listener.local_addr().unwrap()), Arc::clone(text));
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let body = text.lock().unwrap().clone();
            let _read = socket.read(&mut [0; 4096]).await;
            let length = body.len();
            let answer =
                format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
            let _written = socket.write_all(answer.as_bytes()).await;
        }
    });
    url
}

#[tokio::test]
async fn a_token_of_a_rotated_key_is_accepted_at_once() {
    let (one, two) = (Issuer::new(), Issuer::new());
    let jwks = Arc::new(Mutex::new(one.jwks()));
    let url = serve_jwks(&jwks).await;
    let config = |jwks: &str| {
        format!(
            "[auth.jwt]\nissuer = \"https://issuer.example/\"\naudience = \"tenure\"\njwks = \"{jwks}\"\n"
        )
    };
    for store in Store::ALL {
        one.jwks().clone_into(&mut jwks.lock().unwrap());
        let server = Setup::new(store).await.config(&config(&url)).start().await;
        let (old, new) = (one.token(&json!({})), two.token(&json!({})));
        server.get_as(&old, "/api/jobs").await.expect(200);
        let mut stream = server.request("GET", "/api/events").key(&old).header("accept", "text/event-stream");
        stream = stream.header("last-event-id", "0");
        let stream = stream.open().await;
        two.jwks().clone_into(&mut jwks.lock().unwrap());
        server.get_as(&new, "/api/jobs").await.problem(401, "unauthenticated");
        server.reload_with(&[]).await;
        server.get_as(&new, "/api/jobs").await.expect(200);
        server.get_as(&old, "/api/jobs").await.problem(401, "unauthenticated");
        // An issuer that cannot be reached is no reason to refuse known keys.
        "not a JWKS".clone_into(&mut jwks.lock().unwrap());
        server.reload_with(&[]).await;
        server.get_as(&new, "/api/jobs").await.expect(200);
        server.reload_with(&[("tenure.toml", &config(&format!("{url}/other")))]).await;
        assert!(server.logs().contains("cannot fetch auth.jwt.jwks"), "{}", server.logs());
        server.get_as(&new, "/api/jobs").await.expect(200);
        // Without [auth.jwt] and without keys the server is open, and what is open with a token ends.
        server.reload_with(&[("tenure.toml", "")]).await;
        in_time("the stream ends", stream.text()).await.unwrap();
        server.read("/api/jobs").await;
    }
}
