//! Which callers read and add assets.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tenure_e2e::{Reply, Server, column, id, path};
use tokio::io::AsyncWriteExt as _;

use super::{begin_upload, content_path, eventually_in_minutes, files, list, on_both_stores, upload};

#[test]
fn a_worker_uploads_only_while_it_holds_the_lease() {
    on_both_stores(async |server| {
        let taken = server.create_claimed(json!({ "type": "short" })).await;
        let fence = &taken["lease"]["fence"];
        let held = format!("&worker=w1&fence={fence}");
        upload(&server, &taken, &format!("asset_type=t{held}"), b"x").await.expect(201);
        for wrong in ["&worker=w2&fence=1", "&worker=w1&fence=9"] {
            let refused = upload(&server, &taken, &format!("asset_type=t{wrong}"), b"x").await;
            assert_eq!(refused.problem(409, "lease_conflict")["cause"], "wrong_worker");
        }
        // The lease expires during the upload.
        let mut socket = begin_upload(&server, &taken, &held, 20).await;
        server.job_when(&taken, "phase", "ready").await;
        while socket.write_all(&vec![7; 1_000_000]).await.is_ok() {
            // Until the server aborts, or everything was sent.
            if files(&server).len() == 1 {
                break;
            }
        }
        eventually_in_minutes("it is given up", async || files(&server).len() == 1).await;
        assert_eq!(list(&server, &taken).await.len(), 1);
        let late = upload(&server, &taken, &format!("asset_type=t{held}"), b"x").await;
        assert_eq!(late.problem(409, "lease_conflict")["cause"], "lost");
        let late = json!({ "asset_type": "t", "url": "http://example.org/", "worker": "w1", "fence": fence });
        server.call(&taken, "assets", &late).await.problem(409, "lease_conflict");
    });
}

/// A key per role, and a job of ann with an asset, held by worker `w1`.
struct Callers {
    keys: BTreeMap<&'static str, String>,
    job: Value,
    asset: Value,
    held: String,
}

impl Callers {
    /// Creates the keys and the job; the server's key is the admin's from now on.
    async fn of(server: &mut Server) -> Self {
        let mut keys = BTreeMap::new();
        for (name, role, user) in [
            ("admin", "admin", None),
            ("ann", "producer", Some("ann")),
            ("bob", "producer", Some("bob")),
            ("viewer", "viewer", None),
            ("operator", "operator", None),
            ("holder", "worker", None),
            ("other", "worker", None),
        ] {
            let key = server.create_key(role, user).await;
            if name == "admin" {
                server.use_key(Some(&key));
            }
            keys.insert(name, key);
        }
        let job = server.create(json!({ "type": "t", "user_id": "ann" })).await;
        let asset = upload(server, &job, "asset_type=t", b"secret").await.expect(201);
        let claim = json!({ "worker": "w1", "max": 1, "start": true });
        let claimed = server.post_as(&keys["holder"], "/api/claims", &claim).await;
        let held = format!("&worker=w1&fence={}", claimed.expect(200)["jobs"][0]["lease"]["fence"]);
        Self { keys, job, asset, held }
    }

    async fn add(&self, server: &Server, caller: &str, query: &str) -> Reply {
        let at = path(&self.job, &format!("assets?asset_type=t{query}"));
        server.request("POST", &at).key(&self.keys[caller]).bytes("x").send().await
    }
}

#[test]
fn assets_are_visible_to_callers_that_see_the_job() {
    on_both_stores(async |mut server| {
        let callers = Callers::of(&mut server).await;
        let content = content_path(&callers.asset);
        let at = [path(&callers.job, "assets"), content.trim_end_matches("/content").to_owned(), content];
        for (caller, key) in &callers.keys {
            for at in &at {
                let got = server.get_as(key, at).await;
                if ["bob", "other"].contains(caller) {
                    got.problem(403, "forbidden");
                } else {
                    assert_eq!(got.status, 200, "{caller}: {at}: {}", got.text);
                }
            }
        }
        // An asset is found only under its job.
        let own = server.create(json!({ "type": "t", "user_id": "bob" })).await;
        let sneaky = path(&own, &format!("assets/{}/content", id(&callers.asset)));
        server.get_as(&callers.keys["bob"], &sneaky).await.problem(404, "not_found");
    });
}

#[test]
fn only_owners_and_lease_holders_add_assets() {
    on_both_stores(async |mut server| {
        let callers = Callers::of(&mut server).await;
        for caller in ["admin", "ann", "operator"] {
            callers.add(&server, caller, "").await.expect(201);
        }
        for caller in ["viewer", "holder", "bob", "other"] {
            callers.add(&server, caller, "").await.problem(403, "forbidden");
        }
        callers.add(&server, "holder", &callers.held).await.expect(201);
        for caller in ["ann", "bob", "viewer"] {
            callers.add(&server, caller, &callers.held).await.problem(403, "forbidden");
        }
        callers.add(&server, "other", &callers.held).await.problem(409, "lease_conflict");
        callers.add(&server, "other", "&worker=w9&fence=1").await.problem(409, "lease_conflict");
        assert_eq!(column(&json!(list(&server, &callers.job).await), "user_id"), vec![json!("ann"); 5]);
        assert_eq!(files(&server).len(), 5);
    });
}
