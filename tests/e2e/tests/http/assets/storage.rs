//! Where contents are stored, and how much memory an upload needs.

use serde_json::json;
use tenure_e2e::{Server, Setup, Store, id};
use xtask::bucket::Bucket;

use super::{begin_upload, content_path, eventually_in_minutes, on_both_stores, upload};

/// Peak memory of the process in KiB.
fn resident(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells it");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn a_large_upload_is_streamed_with_little_memory() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "t" })).await;
        upload(&server, &job, "asset_type=t", &vec![1; 20 << 20]).await.expect(201);
        let before = resident(&server);
        let client = tenure_client::Client::new(server.url()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("large.bin");
        let bytes = 200 << 20;
        let written = std::fs::File::create(&file).unwrap();
        written.set_len(bytes).unwrap();
        let id = id(&job);
        let asset = client.upload(id, None, "large", "large.bin", file.as_path()).await.unwrap();
        assert_eq!(asset.file_size, Some(bytes));
        let mut download = client.download(id, &asset.id).await.unwrap();
        let mut read = 0;
        while let Some(chunk) = download.chunk().await.unwrap() {
            read += chunk.len() as u64;
        }
        assert_eq!(read, bytes);
        let grown = resident(&server).saturating_sub(before);
        assert!(grown < 50 << 10, "200 MiB passed through, and the server grew by {grown} KiB");
    });
}

#[tokio::test]
async fn without_asset_storage_only_urls_are_accepted() {
    // The embedded store has a default folder.
    let server = Server::sqlite().await;
    let job = server.create(json!({ "type": "t" })).await;
    upload(&server, &job, "asset_type=t", b"x").await.expect(201);
    assert!(server.setup().path("data/assets").is_dir());
    // Nodes on PostgreSQL need a configured store that they share.
    let server = Server::postgres().await;
    let job = server.create(json!({ "type": "t" })).await;
    let answer = upload(&server, &job, "asset_type=t", b"x").await.problem(422, "validation_failed");
    assert!(answer["detail"].as_str().unwrap().contains("assets.store"));
    let page = json!({ "asset_type": "page", "url": "http://example.org/" });
    server.call(&job, "assets", &page).await.expect(201);
}

#[tokio::test]
async fn assets_can_be_stored_in_a_bucket() {
    let bucket = tokio::task::spawn_blocking(Bucket::start).await.unwrap();
    let bucket = bucket.expect("moto is installed: `cargo xtask install` does it");
    for store in Store::ALL {
        let config = format!("[assets]\nstore = \"s3://{}/some/prefix\"\n", Bucket::NAME);
        let server = Setup::new(store).await.config(&config).env(bucket.env()).start().await;
        let job = server.create(json!({ "type": "t", "user_id": "ann" })).await;
        let small = upload(&server, &job, "asset_type=t&name=%C3%BC%20%231.txt", b"small").await.expect(201);
        let large: Vec<u8> = (0..12_000_000_u32).map(|n| (n % 251) as u8).collect();
        let asset = upload(&server, &job, "asset_type=t&name=large", &large).await.expect(201);
        assert_eq!(asset["file_size"], 12_000_000);
        let objects = bucket.objects().unwrap();
        assert_eq!(objects.len(), 2, "{objects:?}");
        assert!(objects.iter().all(|object| object.starts_with("some/prefix/ann/")), "{objects:?}");
        let got = server.request("GET", &content_path(&asset)).open().await;
        assert_eq!(got.bytes().await.unwrap(), large);
        let part = server.request("GET", &content_path(&small)).header("range", "bytes=1-2").send().await;
        assert_eq!((part.status, part.text.as_str()), (206, "ma"));
        let broken = begin_upload(&server, &job, "", 20).await;
        drop(broken);
        let empty = upload(&server, &job, "asset_type=t&name=empty", b"").await.expect(201);
        assert_eq!(server.get(&content_path(&empty)).await.text, "");
        server.call_ok(&job, "cancel", &json!({ "mode": "hard" })).await;
        eventually_in_minutes("its objects are deleted", async || bucket.objects().unwrap().is_empty()).await;
        server.setup().verify();
        assert!(!server.logs().contains("scratch-secret"));
    }
}
