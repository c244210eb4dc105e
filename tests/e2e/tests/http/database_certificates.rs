//! Certificates for connections to PostgreSQL are loaded again on SIGHUP.

use serde_json::json;
use tenure_e2e::*;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};
use xtask::scratch::Scratch;

/// Run by the server in its data folder: an authority, a certificate for the server, and two for the client.
const CERTIFICATES: &str = "
    set -e
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=root -keyout root.key -out root.crt
    signed() {
        openssl req -newkey rsa:2048 -nodes -subj /CN=$1 -keyout $2.key -out $2.csr
        echo $3 > $2.ext
        openssl x509 -req -in $2.csr -CA root.crt -CAkey root.key -set_serial $4 -days 2 -extfile $2.ext -out $2.crt
    }
    signed localhost server subjectAltName=DNS:localhost 1
    signed postgres first extendedKeyUsage=clientAuth 11
    signed postgres second extendedKeyUsage=clientAuth 22
    chmod 600 *.key";

/// The serial numbers of the certificates of all connections of the server.
const SERIALS: &str = "select distinct client_serial::text from pg_stat_ssl join pg_stat_activity using (pid) \
                       where datname = 'tenure'";

async fn ask(client: &Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let row = |message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    };
    messages.into_iter().filter_map(row).collect()
}

/// A database whose clients need a certificate.
async fn prepare(admin: &Client) {
    let rule = "hostssl tenure all 127.0.0.1/32 cert";
    for sql in [
        &format!("copy (select 1) to program $sh$({CERTIFICATES}) >/dev/null 2>&1$sh$"),
        &format!("copy (select 1) to program $sh$sed -i '1i {rule}' pg_hba.conf$sh$"),
        "alter system set ssl = on",
        "alter system set ssl_ca_file = 'root.crt'",
        "create database tenure",
        "select pg_reload_conf()",
    ] {
        ask(admin, sql).await;
    }
}

#[tokio::test]
async fn a_new_client_certificate_is_used_for_new_connections_to_the_database() {
    let database = Scratch::start().expect("PostgreSQL is installed");
    let (admin, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    prepare(&admin).await;
    let file = async |name: &str| ask(&admin, &format!("select pg_read_file('{name}')")).await.remove(0);
    let url = database.url();
    let (host, _) = url.rsplit_once('/').expect("the URL names a database");
    let setup =
        Setup::on_database(&format!("{host}/tenure?sslmode=require&sslcert=client.crt&sslkey=client.key"));
    let setup = setup.file("client.crt", file("first.crt").await).file("client.key", file("first.key").await);
    eventually("the database offers TLS", async || ask(&admin, "show ssl").await == ["on"]).await;
    let server = setup.start().await;
    server.create(json!({ "type": "a" })).await;
    assert_eq!(ask(&admin, SERIALS).await, ["11"]);

    server.reload_with(&[("client.crt", "nonsense")]).await;
    assert!(server.logs().contains("configuration reload failed"), "{}", server.logs());
    assert!(server.logs().contains("client.crt"), "the log names the file: {}", server.logs());
    let second = [("client.crt", file("second.crt").await), ("client.key", file("second.key").await)];
    server.reload_with(&second.each_ref().map(|(name, text)| (*name, text.as_str()))).await;
    server.create(json!({ "type": "a" })).await;
    ask(&admin, "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'tenure'").await;
    eventually("connections have the new certificate", async || ask(&admin, SERIALS).await == ["22"]).await;
    eventually("jobs are created", async || {
        server.post("/api/jobs", &json!({ "type": "a" })).await.status == 202
    })
    .await;
}
