//! Assets: upload, list, download, register.

mod access;
mod cleanup;
mod storage;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tenure_e2e::*;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, timeout};

/// Orphaned objects are deleted after a minute, and expired jobs twice a minute.
const CLEANUP_MAX: Duration = Duration::from_mins(5);

const CONFIG: &str = include_str!("fixtures/assets.toml");

/// A lifecycle whose jobs are deleted one second after they finish.
const BRIEF: &str = include_str!("fixtures/brief.toml");

/// Runs a test on both stores with a folder for assets.
fn on_both_stores(test: impl AsyncFn(Server)) {
    on_both_stores_with_setup(with_asset_storage, test);
}

fn with_asset_storage(setup: Setup) -> Setup {
    setup.config(CONFIG).file("brief.toml", BRIEF)
}

/// Every stored object.
fn files(server: &Server) -> Vec<PathBuf> {
    fn walk(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            // A folder that disappears meanwhile is empty.
            if entry.path().is_dir() { walk(&entry.path(), into) } else { into.push(entry.path()) }
        }
    }
    let mut found = Vec::new();
    walk(&server.setup().path("objects"), &mut found);
    found.sort();
    found
}

/// Waits for a condition that takes more than a minute.
async fn eventually_in_minutes(what: &str, condition: impl AsyncFn() -> bool) {
    let poll = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(100));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if condition().await {
                return;
            }
        }
    };
    timeout(CLEANUP_MAX, poll).await.unwrap_or_else(|_| panic!("waited {CLEANUP_MAX:?} in vain: {what}"));
}

async fn upload(server: &Server, job: &Value, query: &str, content: &[u8]) -> Reply {
    server.request("POST", &path(job, &format!("assets?{query}"))).bytes(content).send().await
}

async fn list(server: &Server, job: &Value) -> Vec<Value> {
    server.read(&path(job, "assets")).await["assets"].as_array().unwrap().clone()
}

fn content_path(asset: &Value) -> String {
    asset["url"].as_str().expect("an asset has a url").to_owned()
}

#[test]
fn an_upload_is_listed_and_downloaded() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "t", "user_id": "ann" })).await;
        let created = upload(&server, &job, "asset_type=picture&name=a%20b.png", b"0123456789").await;
        let location = created.header("location").map(str::to_owned);
        let asset = created.expect(201);
        assert_field_names(
            &asset,
            "id job_id user_id asset_type url storage_path file_size created_at discarded_at",
        );
        assert_fields(&asset, json!({ "job_id": job["id"], "user_id": "ann", "asset_type": "picture" }));
        assert_fields(&asset, json!({ "file_size": 10, "discarded_at": null }));
        let (job_id, id) = (id(&job), id(&asset));
        assert_eq!(asset["storage_path"], format!("ann/{job_id}/{id}/a b.png"));
        assert_eq!(asset["url"], format!("/api/jobs/{job_id}/assets/{id}/content"));
        assert_eq!(location, Some(format!("/api/jobs/{job_id}/assets/{id}")));
        assert_eq!(server.read(&format!("/api/jobs/{job_id}/assets/{id}")).await, asset);
        assert_eq!(list(&server, &job).await, std::slice::from_ref(&asset));
        assert_eq!(files(&server).len(), 1);

        let got = server.get(&content_path(&asset)).await;
        assert_eq!((got.status, got.text.as_str()), (200, "0123456789"));
        assert_eq!(got.header("content-type"), Some("application/octet-stream"));
        assert_eq!(got.header("x-content-type-options"), Some("nosniff"));
        let saved = "attachment; filename=\"a_b.png\"; filename*=UTF-8''a%20b.png";
        assert_eq!(got.header("content-disposition"), Some(saved));
        assert_eq!(got.header("content-length"), Some("10"));
        assert_eq!(got.header("accept-ranges"), Some("bytes"));
        let tag = got.header("etag").unwrap().to_owned();
        let head = server.request("HEAD", &content_path(&asset)).send().await;
        assert_eq!((head.status, head.header("content-length"), head.text.as_str()), (200, Some("10"), ""));
        let known = server.request("GET", &content_path(&asset)).header("if-none-match", &tag).send().await;
        assert_eq!((known.status, known.text.as_str()), (304, ""));

        // An empty content, and a name that needs escaping.
        for (query, content) in [("asset_type=t", ""), ("asset_type=t&name=x%231", "odd")] {
            let asset = upload(&server, &job, query, content.as_bytes()).await.expect(201);
            assert_eq!(server.get(&content_path(&asset)).await.text, content);
        }
        let page = server.read(&path(&job, "assets?limit=2")).await;
        let cursor = page["next_cursor"].as_str().expect("there is one more");
        let rest = server.read(&path(&job, &format!("assets?limit=2&cursor={cursor}"))).await;
        assert_eq!(rest["assets"], json!([asset]), "newest first");
        assert_eq!(rest["next_cursor"], Value::Null);
        // It is kept across a restart.
        let server = server.restart().await;
        assert_eq!(server.get(&content_path(&asset)).await.text, "0123456789");
    });
}

#[test]
fn a_range_of_an_asset_is_downloaded() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "t" })).await;
        let asset = upload(&server, &job, "asset_type=t&name=x", b"0123456789").await.expect(201);
        let part = async |range: &str| {
            server.request("GET", &content_path(&asset)).header("range", range).send().await
        };
        for (range, text, said) in [
            ("bytes=0-0", "0", "bytes 0-0/10"),
            ("bytes=2-4", "234", "bytes 2-4/10"),
            ("bytes=7-", "789", "bytes 7-9/10"),
            ("bytes=-2", "89", "bytes 8-9/10"),
            ("bytes=5-99", "56789", "bytes 5-9/10"),
        ] {
            let got = part(range).await;
            assert_eq!((got.status, got.text.as_str()), (206, text), "{range}");
            assert_eq!(got.header("content-range"), Some(said));
            assert_eq!(got.header("content-length"), Some(text.len().to_string().as_str()));
        }
        for range in ["bytes=10-", "bytes=-0"] {
            let got = part(range).await;
            assert_eq!(got.header("content-range"), Some("bytes */10"));
            got.problem(416, "range_not_satisfiable");
        }
        for range in ["bytes=4-2", "lines=1-2", "bytes=0-1,3-4"] {
            assert_eq!(part(range).await.text, "0123456789", "{range}");
        }
        let other = server.request("GET", &content_path(&asset)).header("range", "bytes=0-0");
        assert_eq!(other.header("if-range", "\"another\"").send().await.status, 200);
    });
}

#[test]
fn an_external_asset_is_registered_by_url() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "t" })).await;
        let body = json!({
            "asset_type": "video", "url": "https://cdn.example.org/v.mp4", "storage_path": "bucket/v.mp4",
            "file_size": 9_000_000_000_u64,
        });
        let asset = server.call(&job, "assets", &body).await.expect(201);
        assert_fields(&asset, body);
        let bare = json!({ "asset_type": "page", "url": "http://example.org/" });
        let bare = server.call(&job, "assets", &bare).await.expect(201);
        assert_fields(&bare, json!({ "storage_path": null, "file_size": null }));
        assert_eq!(list(&server, &job).await, [bare, asset.clone()]);
        let id = id(&asset);
        // It is not fetched, and not served from storage.
        server.get(&path(&job, &format!("assets/{id}/content"))).await.problem(404, "not_found");
        for bad in include_str!("assets/bad_bodies.txt").lines() {
            server.post_text(&path(&job, "assets"), bad).await.problem(400, "malformed");
        }
        let long = json!({ "asset_type": "x", "url": format!("https://{}", "x".repeat(3000)) });
        server.call(&job, "assets", &long).await.problem(413, "too_large");
        // A repeat with the same key has no effect.
        let keyed = async |body: &Value| server.post_keyed("k", &path(&job, "assets"), body).await;
        let body = json!({ "asset_type": "page", "url": "http://example.org/2" });
        let first = keyed(&body).await.expect(201);
        assert_eq!(keyed(&body).await.expect_replay(), first);
        let other = json!({ "asset_type": "other", "url": "http://example.org/2" });
        keyed(&other).await.problem(422, "idempotency_mismatch");
        assert_eq!(list(&server, &job).await.len(), 3);
    });
}

#[test]
fn an_upload_is_idempotent_with_a_key() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "t" })).await;
        let keyed = async |query: &str, content: &str| {
            let request = server.request("POST", &path(&job, &format!("assets?{query}"))).idempotent("k");
            request.bytes(content.as_bytes()).send().await
        };
        let first = keyed("asset_type=t&name=x", "content").await.expect(201);
        assert_eq!(keyed("asset_type=t&name=x", "content").await.expect_replay(), first);
        keyed("asset_type=t&name=x", "another").await.problem(422, "idempotency_mismatch");
        keyed("asset_type=t&name=y", "content").await.problem(422, "idempotency_mismatch");
        assert_eq!(list(&server, &job).await, [first]);
        assert_eq!(files(&server).len(), 1, "what was not wanted is gone");
    });
}

#[test]
fn invalid_names_and_queries_are_refused_before_the_body_is_read() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "t", "user_id": "../../etc" })).await;
        let long = format!("asset_type=t&name={}", "x".repeat(256));
        for query in include_str!("assets/bad_uploads.txt").lines().chain([long.as_str()]) {
            upload(&server, &job, query, b"x").await.problem(400, "malformed");
        }
        upload(&server, &job, "", b"x").await.problem(415, "unsupported_media_type");
        let unknown = json!({ "id": "01990c3a-7d2e-7000-8000-000000000000" });
        upload(&server, &unknown, "asset_type=t", b"x").await.problem(404, "not_found");
        assert_eq!(files(&server), Vec::<PathBuf>::new());
        // Harmless names that look like path traversal or markup, of a user that does, too.
        let query = "asset_type=t&name=..%20%25%23%3C%22%3E.html";
        let asset = upload(&server, &job, query, b"<b>").await.expect(201);
        let own = server.setup().path("objects").canonicalize().unwrap();
        let [found]: [PathBuf; 1] = files(&server).try_into().expect("one file");
        assert!(found.canonicalize().unwrap().starts_with(own));
        let got = server.get(&content_path(&asset)).await;
        assert_eq!(got.text, "<b>");
        let saved = "attachment; filename=\"..__#<_>.html\"; filename*=UTF-8''..%20%25%23%3C%22%3E.html";
        assert_eq!(got.header("content-disposition"), Some(saved));
        // A drive letter for a part of the storage.
        for name in ["C:", "c|"] {
            let query = format!("asset_type=t&name={}", name.replace(':', "%3A").replace('|', "%7C"));
            let asset = upload(&server, &job, &query, name.as_bytes()).await.expect(201);
            assert_eq!(server.get(&content_path(&asset)).await.text, name);
        }
    });
}

#[test]
fn only_the_servers_user_can_read_stored_files() {
    use std::os::unix::fs::PermissionsExt as _;
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        upload(&server, &job, "asset_type=t", b"secret").await.expect(201);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let [file]: [PathBuf; 1] = files(&server).try_into().expect("one file");
        assert_eq!(mode(&file), 0o600);
        for folder in file.ancestors().skip(1).take(3) {
            assert_eq!(mode(folder), 0o700, "{}", folder.display());
        }
    });
}

/// Begins an upload of 100 MB, and sends this many megabytes.
async fn begin_upload(server: &Server, job: &Value, query: &str, megabytes: usize) -> TcpStream {
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    let head = format!(
        "POST {}?asset_type=t&name=big{query} HTTP/1.1\r\nhost: {}\r\ncontent-length: 100000000\r\n\r\n",
        path(job, "assets"),
        server.address()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..megabytes {
        socket.write_all(&vec![7; 1_000_000]).await.unwrap();
    }
    socket
}
