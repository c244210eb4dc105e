//! What a lifecycle API contains, describes and permits.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_e2e::{Setup, Store, field_names, rows};

use super::{MOUNTS, new_job, with_lifecycle_apis};
use crate::jobs::REVIEW;

#[test]
fn a_lifecycle_api_has_only_jobs_and_types_of_its_lifecycle() {
    with_lifecycle_apis(async |server| {
        let mut created = Vec::new();
        for (mount, id) in MOUNTS {
            let job = server.post(mount, &new_job(mount)).await.expect(202);
            created.push(job[id].as_str().unwrap().to_owned());
        }
        for (nth, (mount, id)) in MOUNTS.iter().enumerate() {
            let jobs = server.read(mount).await["jobs"].take();
            assert_eq!(rows(&jobs).len(), 1, "{mount}");
            assert_eq!(jobs[0][*id], created[nth].as_str(), "{mount}");
            let other = &created[(nth + 1) % created.len()];
            for call in ["", "/events", "/explain", "/stream", "/logs"] {
                server.get(&format!("{mount}/{other}{call}")).await.problem(404, "not_found");
            }
            for call in ["cancel", "retry", "succeed", "signals/x"] {
                let body = json!({ "worker": "w1", "fence": 1 });
                server.post(&format!("{mount}/{other}/{call}"), &body).await.problem(404, "not_found");
            }
            let unknown = format!("{mount}/01990c3a-7d2e-7000-8000-000000000000");
            server.get(&unknown).await.problem(404, "not_found");
            server.get(&format!("{mount}/x")).await.problem(400, "malformed");
        }
        let foreign = server.post("/engine/jobs", &json!({ "jobType": "index" })).await;
        let foreign = foreign.problem_at(422, "unknown_type", "#/jobType");
        let accepted = "which accepts scene and every type";
        assert!(foreign["detail"].as_str().unwrap().contains(accepted), "{foreign}");
        let named = server.post("/engine/jobs", &json!({ "jobType": "x", "lifecycle": "so1" })).await;
        assert_eq!(named.problem(422, "validation_failed")["errors"][0]["pointer"], "#/lifecycle");
        // The same key in another lifecycle is a mismatch.
        server.post_keyed("k", "/api/jobs", &json!({ "type": "y" })).await.expect(202);
        let here = server.post_keyed("k", "/so1/api/jobs", &json!({ "action": "y" })).await;
        here.problem(422, "idempotency_mismatch");
        let free = server.post("/engine/jobs", &json!({ "jobType": "x", "lifecycle": "engine" })).await;
        assert_eq!(free.expect(202)["lifecycle"], "engine");
    });
}

#[test]
fn rights_and_methods_are_the_same_as_under_api() {
    with_lifecycle_apis(async |mut server| {
        let job = server.post("/engine/jobs", &new_job("/engine/jobs")).await.expect(202);
        let location = format!("/engine/jobs/{}", job["jobId"].as_str().unwrap());
        let admin = server.create_key("admin", None).await;
        server.get(&location).await.problem(401, "unauthenticated");
        server.get("/engine/jobs").await.problem(401, "unauthenticated");
        server.post("/engine/jobs", &json!({ "nonsense": 1 })).await.problem(401, "unauthenticated");
        server.get("/engine/jobs/a/b/c").await.problem(404, "not_found");
        server.get("/engine/job").await.problem(404, "not_found");
        server.get("/engine/jobsx").await.problem(404, "not_found");
        server.use_key(Some(&admin));
        let mine = server.create_key("producer", Some("u1")).await;
        let other = server.create_key("producer", Some("u2")).await;
        let viewer = server.create_key("viewer", None).await;
        let own = server.get_as(&mine, &location).await.expect(200);
        assert_eq!(own["userId"], "u1");
        server.get_as(&other, &location).await.problem(403, "forbidden");
        let listed = server.get_as(&other, "/engine/jobs").await.expect(200);
        assert_eq!(listed["jobs"], json!([]));
        let scene = json!({ "jobType": "scene" });
        server.post_as(&viewer, "/engine/jobs", &scene).await.problem(403, "forbidden");
        assert_eq!(server.post_as(&other, "/engine/jobs", &scene).await.expect(202)["userId"], "u2");

        let wrong = server.request("PUT", &location).send().await;
        assert!(wrong.header("allow").is_some_and(|allow| allow.contains("GET")));
        let detail = wrong.problem(405, "method_not_allowed")["detail"].take();
        assert_eq!(detail, format!("{location} does not support PUT"));
        let nowhere = server.get(&format!("{location}/nowhere")).await.problem(404, "not_found");
        assert_eq!(nowhere["detail"], format!("there is nothing at {location}/nowhere"));
        let head = server.request("HEAD", &location).send().await;
        let whole = server.get(&location).await;
        assert_eq!((head.status, head.text.as_str()), (200, ""));
        assert_eq!(head.header("content-length"), Some(whole.text.len().to_string().as_str()));
        let large = json!({ "jobType": "scene", "payload": "x".repeat(17 << 20) });
        let large = server.request("POST", "/engine/jobs").json(&large).try_send().await;
        // The server may close the connection before everything was sent.
        if let Ok(large) = large {
            large.problem(413, "too_large");
        }
    });
}

#[test]
fn a_lifecycle_api_honours_minimal_answers() {
    with_lifecycle_apis(async |server| {
        for (mount, id) in MOUNTS {
            let ask = |path: &str, body: &Value| {
                server.request("POST", path).header("prefer", "return=minimal").json(body)
            };
            let reply = ask(mount, &new_job(mount)).send().await;
            assert_eq!(reply.header("preference-applied"), Some("return=minimal"), "{mount}");
            let location = reply.header("location").unwrap().to_owned();
            let job = reply.expect(202);
            assert_eq!(job, json!({ (id): job[id] }), "{mount}");
            assert_eq!(location, format!("{mount}/{}", job[id].as_str().unwrap()));
            if mount == "/so1/api/jobs" {
                let reply = ask(&format!("{location}/cancel"), &json!({})).send().await;
                assert_eq!((reply.status, reply.text.as_str()), (204, ""), "{mount}");
                assert_eq!(server.read(&location).await["state"], json!("cancelled"), "{mount}");
            }
        }
    });
}

#[test]
fn mounted_lifecycle_apis_are_described() {
    with_lifecycle_apis(async |server| {
        let answer = server.read("/openapi.json").await;
        let canonical: Value = serde_json::from_str(tenure_api::OPENAPI).unwrap();
        let below = |whole: &Value, mount: &str| -> BTreeSet<String> {
            let paths = whole["paths"].as_object().unwrap().iter();
            let paths = paths.filter_map(|(path, item)| {
                let rest =
                    path.strip_prefix(mount).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
                Some(item.as_object().unwrap().keys().map(move |method| format!("{method} {rest}")))
            });
            paths.flatten().collect()
        };
        let all = below(&canonical, "/api/jobs");
        for (mount, id) in MOUNTS {
            assert_eq!(below(&answer, mount), all, "{mount}");
            let job = server.post(mount, &new_job(mount)).await.expect(202);
            let schema =
                answer["paths"][mount]["post"]["responses"]["202"]["content"]["application/json"].clone();
            let location = schema["schema"]["anyOf"][0]["$ref"].as_str().unwrap().strip_prefix('#').unwrap();
            let schema = answer.pointer(location).unwrap();
            let required: BTreeSet<&str> =
                rows(&schema["required"]).iter().filter_map(Value::as_str).collect();
            for object in [&job, &schema["properties"]] {
                assert!(required.iter().copied().eq(field_names(object)), "{mount}: {required:?} {object}");
            }
            let asked = answer["paths"][mount]["post"]["requestBody"]["content"]["application/json"].clone();
            let location = asked["schema"]["$ref"].as_str().unwrap().strip_prefix('#').unwrap();
            let fields = answer.pointer(location).unwrap()["properties"].as_object().unwrap();
            for name in new_job(mount).as_object().unwrap().keys() {
                assert!(fields.contains_key(name), "{mount}: {name}");
            }
            let asset =
                &answer["paths"][format!("{mount}/{{id}}/assets/{{asset}}")]["get"]["responses"]["200"];
            let url = asset["content"]["application/json"]["example"]["url"].as_str().unwrap();
            assert!(url.starts_with(&format!("{mount}/")), "{url}");
            let path = format!("{mount}/{}", job[id].as_str().unwrap());
            server.request("OPTIONS", &path).send().await.problem(405, "method_not_allowed");
        }
        let filters = rows(&answer["paths"]["/engine/jobs"]["get"]["parameters"]);
        assert!(filters.iter().any(|filter| filter["name"] == "engineId"), "{filters:?}");
    });
}

#[tokio::test]
async fn a_duplicate_mount_is_refused_at_start() {
    for mount in ["/jobs", "/so1/api/jobs/batch"] {
        let lifecycle = format!("{REVIEW}\n[api]\nmount = \"{mount}\"\n");
        let setup = Setup::new(Store::Sqlite).await.config("lifecycles = [\"review.toml\"]\n");
        let answer = setup.file("review.toml", lifecycle).command("127.0.0.1:0").output().unwrap();
        let said = String::from_utf8_lossy(&answer.stderr).into_owned();
        assert!(!answer.status.success(), "{said}");
        let refusal = format!("the API of lifecycle review cannot be mounted at {mount}");
        assert!(said.contains(&refusal), "{said}");
        assert!(said.contains("review.toml"), "{said}");
    }
}
