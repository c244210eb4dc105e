//! Encrypted connections to PostgreSQL: each `sslmode` against a server with and without TLS.

use std::path::PathBuf;

use crate::fixture::*;
use crate::prelude::*;
use crate::stores::{self, ask};

/// Run by the server in its data folder: an authority, a certificate for localhost, one for the client, and another authority.
const CERTIFICATES: &str = "
    set -e
    authority() { openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=$1 -keyout $1.key -out $1.crt; }
    signed() {
        openssl req -newkey rsa:2048 -nodes -subj /CN=$1 -keyout $2.key -out $2.csr
        echo $3 > $2.ext
        openssl x509 -req -in $2.csr -CA root.crt -CAkey root.key -CAcreateserial -days 2 -extfile $2.ext -out $2.crt
    }
    authority root; authority other
    signed localhost server subjectAltName=DNS:localhost
    signed postgres client extendedKeyUsage=clientAuth
    chmod 600 *.key";

struct TlsServer {
    port: String,
    files: tempfile::TempDir,
    _server: xtask::scratch::Scratch,
}

impl TlsServer {
    /// Clients of the database `clients` need a certificate of the authority.
    async fn start() -> Self {
        let server = stores::a_server();
        let url = server.url();
        ask(&url, &format!("copy (select 1) to program $sh$({CERTIFICATES}) >/dev/null 2>&1$sh$")).await;
        let files = stores::a_folder();
        for name in ["root.crt", "other.crt", "client.crt", "client.key"] {
            let text = ask(&url, &format!("select pg_read_file('{name}')")).await.remove(0).remove(0);
            std::fs::write(files.path().join(name), text.expect("the file has text")).unwrap();
        }
        let client_rule = "hostssl clients all 127.0.0.1/32 cert";
        let rules = format!("copy (select 1) to program $sh$sed -i '1i {client_rule}' pg_hba.conf$sh$");
        for sql in [
            "alter system set ssl = on",
            "alter system set ssl_ca_file = 'root.crt'",
            &rules,
            "create database clients",
            "select pg_reload_conf()",
        ] {
            ask(&url, sql).await;
        }
        let port = url.rsplit_once(':').and_then(|(_, rest)| rest.split_once('/')).unwrap().0.to_owned();
        let this = Self { port, files, _server: server };
        until("the server offers TLS", async || this.connect("localhost", "postgres", "require").await.ok())
            .await;
        this
    }

    fn file(&self, name: &str) -> String {
        let path: PathBuf = self.files.path().join(name);
        path.display().to_string().replace('/', "%2F")
    }

    async fn connect(&self, host: &str, database: &str, mode: &str) -> Result<Store, StoreError> {
        Store::connect(&format!("postgres://postgres@{host}:{}/{database}?sslmode={mode}", self.port)).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_sslmode_checks_what_it_says() {
    let server = TlsServer::start().await;
    let verified = |mode: &str, root: &str| format!("{mode}&sslrootcert={}", server.file(root));
    for (host, mode, is_admitted) in [
        ("localhost", "disable".to_owned(), true),
        ("localhost", "prefer".to_owned(), true),
        ("127.0.0.1", verified("verify-ca", "root.crt"), true),
        ("localhost", verified("verify-full", "root.crt"), true),
        ("127.0.0.1", verified("verify-full", "root.crt"), false),
        ("localhost", verified("verify-ca", "other.crt"), false),
        ("localhost", verified("require", "other.crt"), false),
        ("localhost", "verify-full".to_owned(), false),
    ] {
        let connected = server.connect(host, "postgres", &mode).await;
        if is_admitted {
            drop(connected.unwrap_or_else(|error| panic!("{host} {mode}: {error}")));
        } else {
            assert!(matches!(connected, Err(StoreError::Denied(_))), "{host} {mode}: {connected:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_certificate_is_sent_and_batches_are_encrypted() {
    let server = TlsServer::start().await;
    let refused = server.connect("127.0.0.1", "clients", "require").await;
    assert!(matches!(refused, Err(StoreError::Denied(_))), "{refused:?}");
    let mode = format!("require&sslcert={}&sslkey={}", server.file("client.crt"), server.file("client.key"));
    let store = server.connect("127.0.0.1", "clients", &mode).await.unwrap();
    created_one(&store, a_job("so1")).await;
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port);
    let sql =
        "select bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid) where datname = 'clients'";
    assert_eq!(ask(&url, sql).await[0][0].as_deref(), Some("t"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_tls_is_refused_where_it_is_required() {
    let url = stores::a_database().await;
    let refused = Store::connect(&format!("{url}?sslmode=require")).await;
    assert!(matches!(&refused, Err(StoreError::Denied(why)) if why.contains("sslmode")), "{refused:?}");
    stores::connect(&format!("{url}?sslmode=prefer")).await;
}
