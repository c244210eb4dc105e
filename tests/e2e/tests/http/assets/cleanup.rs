//! Objects of failed uploads and of deleted assets are removed.

use serde_json::{Value, json};
use tenure_e2e::{Setup, Store, on_both_stores_with_config, path};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::{
    begin_upload, content_path, eventually_in_minutes, files, list, on_both_stores, upload,
    with_asset_storage,
};

#[test]
fn an_upload_that_is_too_large_leaves_nothing_behind() {
    let config = "[limits]\nasset = \"1 MiB\"\n[assets]\nstore = \"file:./objects\"\n";
    on_both_stores_with_config(config, async |server| {
        let job = server.create(json!({ "type": "t" })).await;
        let fits = vec![7; 1 << 20];
        upload(&server, &job, "asset_type=t", &fits).await.expect(201);
        let large = vec![7; (1 << 20) + 1];
        let answer = upload(&server, &job, "asset_type=t", &large).await.problem(413, "too_large");
        assert_eq!(answer["limit"], 1 << 20);
        // Without a length the limit is applied while reading.
        let mut socket = TcpStream::connect(server.address()).await.unwrap();
        let head = format!(
            "POST {}?asset_type=t HTTP/1.1\r\nhost: {}\r\ntransfer-encoding: chunked\r\n\r\n",
            path(&job, "assets"),
            server.address()
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        let chunk = [b"10000\r\n".as_slice(), &vec![7; 1 << 16], b"\r\n"].concat();
        let mut sent = 0;
        while sent < 64 && socket.write_all(&chunk).await.is_ok() {
            sent += 1;
        }
        tenure_e2e::eventually("it is given up", async || files(&server).len() == 1).await;
        assert_eq!(list(&server, &job).await.len(), 1);
    });
}

#[test]
fn an_interrupted_upload_leaves_nothing_behind() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "t" })).await;
        let socket = begin_upload(&server, &job, "", 20).await;
        tenure_e2e::eventually("it is written", async || files(&server).len() == 1).await;
        drop(socket);
        tenure_e2e::eventually("it is gone", async || files(&server).is_empty()).await;
        assert_eq!(list(&server, &job).await, Vec::<Value>::new());
    });
}

#[tokio::test]
async fn a_crash_during_an_upload_leaves_no_row_and_its_object_is_deleted() {
    let crash = async |store| {
        let mut server = with_asset_storage(Setup::new(store).await).start().await;
        let job = server.create(json!({ "type": "t" })).await;
        let kept = upload(&server, &job, "asset_type=t&name=kept", b"kept").await.expect(201);
        let socket = begin_upload(&server, &job, "", 20).await;
        tenure_e2e::eventually("it is written", async || files(&server).len() == 2).await;
        server.kill();
        drop(socket);
        let server = server.restart().await;
        assert_eq!(list(&server, &job).await, std::slice::from_ref(&kept));
        eventually_in_minutes("it is deleted", async || files(&server).len() == 1).await;
        assert_eq!(server.get(&content_path(&kept)).await.text, "kept");
        server.setup().verify();
    };
    tokio::join!(crash(Store::Sqlite), crash(Store::Postgres));
}

#[test]
fn a_hard_cancel_deletes_assets() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "t" })).await;
        let asset = upload(&server, &job, "asset_type=t&name=x", b"x").await.expect(201);
        let page = json!({ "asset_type": "page", "url": "http://example.org/" });
        server.call(&job, "assets", &page).await.expect(201);
        server.call_ok(&job, "cancel", &json!({ "mode": "hard" })).await;
        let assets = list(&server, &job).await;
        assert!(assets.iter().all(|asset| asset["discarded_at"].is_string()), "{assets:?}");
        server.get(&content_path(&asset)).await.problem(404, "not_found");
        eventually_in_minutes("its object is deleted", async || files(&server).is_empty()).await;
        assert_eq!(list(&server, &job).await, assets, "the rows stay");
        // Assets that are added afterwards are kept.
        let note = upload(&server, &job, "asset_type=note", b"post mortem").await.expect(201);
        assert_eq!(server.get(&content_path(&note)).await.text, "post mortem");
    });
}

#[test]
fn assets_are_deleted_with_their_job() {
    on_both_stores(async |server| {
        let stays = server.create(json!({ "type": "t", "run_at": "2999-01-01T00:00:00Z" })).await;
        let kept = upload(&server, &stays, "asset_type=t", b"kept").await.expect(201);
        let job = server.create(json!({ "type": "brief", "user_id": "ann" })).await;
        let asset = upload(&server, &job, "asset_type=t", b"x").await.expect(201);
        assert_eq!(files(&server).len(), 2);
        let claimed = server.claim_one().await;
        assert_eq!(server.succeed(&claimed).await["id"], job["id"]);
        eventually_in_minutes("its object is deleted", async || files(&server).len() == 1).await;
        server.get(&path(&job, "assets")).await.problem(404, "not_found");
        server.get(&content_path(&asset)).await.problem(404, "not_found");
        assert!(!server.setup().path("objects/ann").exists(), "no empty folder is left");
        assert_eq!(server.get(&content_path(&kept)).await.text, "kept");
    });
}
