//! Assets under the path of a lifecycle API.

use serde_json::json;
use tenure_e2e::id;

use super::{MOUNTS, new_job, take, with_lifecycle_apis};

#[test]
fn an_asset_is_downloaded_under_the_path_of_its_lifecycle_api() {
    with_lifecycle_apis(async |server| {
        for (mount, id_field) in MOUNTS {
            let job = server.post(mount, &new_job(mount)).await.expect(202);
            let assets = format!("{mount}/{}/assets", job[id_field].as_str().unwrap());
            let upload = format!("{assets}?asset_type=picture&name=a.png");
            let reply = server.request("POST", &upload).idempotent("k").bytes("0123").send().await;
            let location = reply.header("location").unwrap().to_owned();
            let asset = reply.expect(201);
            assert_eq!(location, format!("{assets}/{}", id(&asset)));
            assert_eq!(asset["url"], format!("{location}/content"));
            // Contents are not parsed, even if they look like an answer.
            let url = asset["url"].as_str().unwrap();
            let got = server.get(url).await;
            assert_eq!((got.status, got.text.as_str()), (200, "0123"));
            assert_eq!(got.header("content-length"), Some("4"));
            let part = server.request("GET", url).header("range", "bytes=1-2").send().await;
            assert_eq!((part.status, part.text.as_str()), (206, "12"));
            let again = server.request("POST", &upload).idempotent("k").bytes("0123").send().await;
            assert_eq!(again.expect(200), asset);
            let elsewhere = json!({ "asset_type": "video", "url": "https://example.org/api/jobs/v" });
            let elsewhere = server.post(&assets, &elsewhere).await.expect(201);
            assert_eq!(elsewhere["url"], "https://example.org/api/jobs/v");
            assert_eq!(server.read(&location).await, asset);
            let page = server.read(&assets).await;
            assert_eq!(page, json!({ "assets": [elsewhere, asset], "next_cursor": null }));
            // The same asset under `/api/jobs`: only the URL differs.
            let mut canonical = server.read(&location.replace(mount, "/api/jobs")).await;
            assert_eq!(canonical["url"], url.replace(mount, "/api/jobs"));
            canonical["url"] = url.into();
            assert_eq!(canonical, asset);
        }
    });
}

#[test]
fn an_engine_uploads_with_its_field_names() {
    with_lifecycle_apis(async |server| {
        server.post("/engine/jobs", &new_job("/engine/jobs")).await.expect(202);
        let (id, fence) = take(&server).await;
        let as_engine = format!("asset_type=t&engineId=w1&fence={fence}");
        let assets = format!("/engine/jobs/{id}/assets");
        let contents = r#"{ "url": "/api/jobs/x", "assets": [] }"#;
        let upload = server.request("POST", &format!("{assets}?{as_engine}")).bytes(contents).send().await;
        let asset = upload.expect(201);
        assert_eq!(server.get(asset["url"].as_str().unwrap()).await.text, contents, "as it came");
        let canonical = format!("{assets}?asset_type=t&worker=w1&fence={fence}");
        server.request("POST", &canonical).bytes("x").send().await.problem(400, "malformed");
    });
}
