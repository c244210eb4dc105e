//! `tenure doctor` and `tenure config check`.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tenure_e2e::cli::{Folder, expect_exit};
use tenure_e2e::{Server, new_database, rows, tenure};

/// Runs `tenure doctor` with more arguments, and returns the checks that are wrong.
fn wrong(folder: &Folder, arguments: &str) -> Vec<String> {
    let output = folder.run(&format!("doctor -o json {arguments}"));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let wrong = rows(&found["findings"]).iter().filter(|finding| finding["status"] == "wrong");
    let wrong: Vec<String> = wrong
        .map(|finding| {
            assert!(finding["action"].is_string(), "{finding}");
            finding["check"].as_str().unwrap().to_owned()
        })
        .collect();
    expect_exit(output, i32::from(!wrong.is_empty()), arguments);
    wrong
}

/// Every file below a folder, with its content and when it was changed.
fn contents(folder: &Path) -> BTreeMap<String, (Vec<u8>, std::time::SystemTime)> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).filter(|it| it.path().is_file());
    let read = |file: fs::DirEntry| {
        let changed = file.metadata().unwrap().modified().unwrap();
        (file.file_name().into_string().unwrap(), (fs::read(file.path()).unwrap(), changed))
    };
    files.map(read).collect()
}

async fn folder_with_store() -> Folder {
    let folder = Folder::new();
    drop(tenure_store::Store::open(&folder.path().join("tenure-data")).await.unwrap());
    folder
}

#[tokio::test]
async fn a_new_folder_and_an_idle_store_are_in_order_and_not_changed() {
    let folder = Folder::new();
    assert_eq!(wrong(&folder, ""), [""; 0]);
    assert!(!folder.path().join("tenure-data").exists());
    let folder = folder_with_store().await;
    let before = contents(&folder.path().join("tenure-data"));
    assert_eq!(wrong(&folder, ""), [""; 0]);
    assert_eq!(contents(&folder.path().join("tenure-data")), before);
}

#[tokio::test]
async fn a_running_server_and_its_leftovers_are_in_order() {
    let mut server = Server::sqlite().await;
    server.create(serde_json::json!({ "type": "work" })).await;
    let data = server.setup().path("data");
    let arguments = format!("--data {}", data.display());
    let folder = Folder::new();
    tenure_e2e::eventually("the node reports itself", async || {
        let (text, _) = folder.outputs(0, &format!("doctor {arguments}"));
        text.contains(server.address()) && text.contains(&format!("of process {}", server.id()))
    })
    .await;
    server.kill();
    // The write-ahead log has commits that are not in the file, and no process uses it.
    let before = contents(&data);
    assert!(before.contains_key("tenure.db-wal"));
    assert_eq!(wrong(&folder, &arguments), [""; 0]);
    assert_eq!(contents(&data), before);
}

#[tokio::test]
async fn flaws_of_the_folder_and_of_the_store_are_found() {
    let folder = folder_with_store().await;
    let data = folder.path().join("tenure-data");
    fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(wrong(&folder, ""), ["permissions"]);
    folder.write("file", "");
    assert_eq!(wrong(&folder, "--data file"), ["store"]);
    fs::set_permissions(&data, Permissions::from_mode(0o700)).unwrap();
    let change = |sql: &str| {
        rusqlite::Connection::open(data.join("tenure.db")).unwrap().execute(sql, []).unwrap();
    };
    let other = "insert into nodes (id, address, version, started_at, seen_at, stopped, tally)
         values ('n', 'h:1', '0.0.1', 0, 9000000000000, 0, '')";
    change(other);
    assert_eq!(wrong(&folder, ""), ["nodes"]);
    change("update clock set alive_at = alive_at + 3600000");
    assert_eq!(wrong(&folder, ""), ["clock", "nodes"]);
    change("insert into migrations (number, checksum) values (9999, '')");
    assert_eq!(wrong(&folder, ""), ["store"]);
    fs::write(data.join("tenure.db"), "this is not a database, however long it may be".repeat(100)).unwrap();
    assert_eq!(wrong(&folder, ""), ["store"]);
}

#[test]
fn a_low_limit_of_open_files_is_found() {
    let folder = Folder::new();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 256; exec \"$0\" doctor -o name"]).arg(tenure()).current_dir(folder.path());
    assert_eq!(expect_exit(shell.output().unwrap(), 1, "doctor").0, "open files\n");
}

#[test]
fn an_expired_certificate_is_found_before_it_is_a_flaw_of_the_configuration() {
    let folder = Folder::new();
    folder.write("tenure.toml", "[tls]\ncertificate = \"c.pem\"\nkey = \"k.pem\"\n");
    let make = |days: &str| {
        let mut openssl = Command::new("openssl");
        let new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", days];
        openssl.args(new).args(["-keyout", "k.pem", "-out", "c.pem"]).current_dir(folder.path());
        expect_exit(openssl.output().unwrap(), 0, "openssl");
    };
    make("90");
    assert_eq!(wrong(&folder, ""), [""; 0]);
    make("13");
    assert_eq!(wrong(&folder, ""), ["certificate"]);
    folder.write("c.pem", "no certificate");
    assert_eq!(wrong(&folder, ""), ["configuration", "certificate"]);
}

#[tokio::test]
async fn settings_of_a_database_are_checked_and_nothing_is_created_in_it() {
    let (folder, url) = (Folder::new(), new_database().await);
    let with = |options: &str| {
        let mark = if url.contains('?') { '&' } else { '?' };
        format!("--database-url {url}{mark}options=-c%20{options}")
    };
    let plain = format!("--database-url {url}");
    assert_eq!(wrong(&folder, &plain), [""; 0]);
    let (text, _) = folder.outputs(0, &format!("doctor {plain}"));
    assert!(text.contains("schema 0"), "{text}");
    assert_eq!(wrong(&folder, &with("synchronous_commit%3Doff")), ["synchronous_commit"]);
    assert_eq!(wrong(&folder, &with("default_transaction_read_only%3Don")), ["writable"]);
    assert_eq!(wrong(&folder, "--database-url postgres://postgres@127.0.0.1:1/none"), ["store"]);
    let server = tenure_e2e::Setup::on_database(&url).start().await;
    tenure_e2e::eventually("the node reports itself", async || {
        folder.outputs(0, &format!("doctor {plain}")).0.contains(server.address())
    })
    .await;
}

#[test]
fn a_flawed_configuration_is_one_finding() {
    let folder = Folder::new();
    folder.write("tenure.toml", "listen = 5\n");
    assert_eq!(wrong(&folder, ""), ["configuration"]);
}

#[test]
fn a_configuration_is_checked_without_a_start() {
    let folder = Folder::new();
    folder.write("tenure.toml", "[types.hello]\nlifecycle = \"so1\"\n");
    let (_, printed) = folder.outputs(0, "config check");
    assert!(printed.starts_with("tenure.toml is valid: 1 type, "), "{printed}");
    assert!(!folder.path().join("tenure-data").exists());
    folder.outputs(5, "config check --config nowhere.toml");
    folder.write("tenure.toml", "[types.hello]\nlifecycle = \"none\"\n[limits]\npayload = \"1 XB\"\n");
    let (flaws, _) = folder.outputs(7, "config check -o json");
    let flaws: Value = serde_json::from_str(&flaws).unwrap();
    assert_eq!(rows(&flaws["flaws"]).len(), 2, "{flaws}");
}

#[test]
fn what_only_a_start_would_refuse_is_a_flaw_too() {
    let folder = Folder::new();
    let check = |config: &str| {
        folder.write("tenure.toml", config);
        folder.outputs(7, "config check").1
    };
    let missing = check("[tls]\ncertificate = \"c.pem\"\nkey = \"k.pem\"\n");
    assert!(missing.contains("c.pem"), "{missing}");
    let guard = check("[types.hello]\nlifecycle = \"so1\"\nguard = \"payload.\"\n");
    assert!(guard.contains("guard"), "{guard}");
    let url = check("database_url = \"postgres://h/db?sslmode=verify\"\n");
    assert!(url.contains("sslmode"), "{url}");
    folder.change("so1.toml", "[", "broken [");
    let lifecycle = check("lifecycles = [\"lifecycles/so1.toml\"]\n");
    assert!(lifecycle.contains("so1.toml"), "{lifecycle}");
}
