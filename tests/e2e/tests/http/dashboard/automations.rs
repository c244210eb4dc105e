//! The pages of schedules, webhooks and the audit log.

use serde_json::{Value, json};
use tenure_e2e::{Server, column, id};

use super::{assert_contains, assert_lacks, on_both_stores_without_redirects, said, send, shown};
use crate::roles::create_keys;

const NIGHTLY: [(&str, &str); 6] = [
    ("id", "nightly"),
    ("cron", "30 2 * * *"),
    ("timezone", "Europe/Berlin"),
    ("type", "index"),
    ("payload", "{\"all\": true}"),
    ("priority", ""),
];

#[test]
fn a_schedule_is_created_run_edited_paused_and_deleted_by_forms() {
    on_both_stores_without_redirects(async |server| {
        assert_contains(&shown(&server, "/ui/schedules").await, &["No schedules", "Create a schedule"]);
        let created = send(&server, "/ui/schedules", &NIGHTLY).await;
        assert_eq!(said(&created), "Schedule nightly is created.");
        assert_eq!(created.header("location"), Some("/ui/schedules/nightly"));
        let page = shown(&server, "/ui/schedules").await;
        assert_contains(&page, &["nightly", "30 2 * * *", "Europe/Berlin", ">Run now<", ">Pause<", "never"]);

        let press = async |act: &str| send(&server, &format!("/ui/schedules/nightly/{act}"), &[]).await;
        let run = press("run").await;
        assert_eq!(said(&run), "Schedule nightly created this job.");
        let job = server.rows("/api/jobs").await.remove(0);
        assert_eq!(run.header("location"), Some(format!("/ui/jobs/{}", id(&job)).as_str()));
        assert_eq!((&job["type"], &job["payload"]), (&json!("index"), &json!({ "all": true })));
        let page = shown(&server, "/ui/schedules/nightly").await;
        assert_contains(&page, &["Next times", "queued", "&quot;all&quot;: true", id(&job), "data-ask="]);
        assert_eq!(page.matches("data-until").count(), 5);

        let edit = [("cron", "0 4 * * *"), ("type", "report"), ("overlap", "skip"), ("max_attempts", "2")];
        assert_eq!(
            said(&send(&server, "/ui/schedules/nightly/replace", &edit).await),
            "Schedule nightly is changed."
        );
        let schedule = server.read("/api/schedules/nightly").await;
        assert_eq!((&schedule["cron"], &schedule["timezone"]), (&json!("0 4 * * *"), &json!("UTC")));
        assert_eq!((&schedule["overlap"], &schedule["job"]["max_attempts"]), (&json!("skip"), &json!(2)));
        assert_eq!(schedule["last_job"], job["id"]);
        // Its last job is unfinished, and it does not overlap.
        let refused = press("run").await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert_contains(&refused.text, &["its last job is unfinished"]);

        assert_eq!(said(&press("pause").await), "Schedule nightly is paused.");
        assert_contains(&shown(&server, "/ui/schedules").await, &[">Resume<", "paused"]);
        assert_eq!(said(&press("resume").await), "Schedule nightly continues with its next time.");
        for (fields, status) in [
            ([("cron", "0 4 30 2 *"), ("type", "a")], 422),
            ([("cron", "0 4 * * *"), ("payload", "{no")], 400),
            ([("cron", "0 4 * * *"), ("colour", "red")], 400),
        ] {
            assert_eq!(
                send(&server, "/ui/schedules/nightly/replace", &fields).await.status,
                status,
                "{fields:?}"
            );
        }
        assert_eq!(press("explode").await.status, 404);
        assert_eq!(said(&press("delete").await), "Schedule nightly is deleted; its jobs stay.");
        assert_eq!(super::ask(&server, "/ui/schedules/nightly").await.status, 404);
        let did = [
            "schedule_create",
            "schedule_run",
            "schedule_replace",
            "schedule_pause",
            "schedule_resume",
            "schedule_remove",
        ];
        assert_eq!(server.column("/api/audit", "action").await, did);
    });
}

#[test]
fn a_webhook_is_paused_resumed_replayed_and_deleted_by_forms() {
    on_both_stores_without_redirects(async |server| {
        // Nothing listens there.
        let hook = json!({ "id": "h", "url": "http://127.0.0.1:9/", "filter": { "event": "job_queued" } });
        server.post("/api/webhooks", &hook).await.expect(201);
        let press = async |act: &str, fields: &[(&str, &str)]| {
            send(&server, &format!("/ui/webhooks/h/{act}"), fields).await
        };
        assert_eq!(said(&press("disable", &[]).await), "Webhook h is paused; its events wait.");
        let job = server.create(json!({ "type": "a" })).await;
        let page = shown(&server, "/ui/webhooks").await;
        assert_contains(&page, &["http://127.0.0.1:9/", "job_queued", "paused", ">Resume<"]);
        let page = shown(&server, "/ui/webhooks/h").await;
        assert_contains(&page, &["Deliveries", "waiting", "job_queued", id(&job), "1 behind the journal"]);
        assert_eq!(press("replay", &[("since", "soon")]).await.status, 400);
        // It has sent nothing yet.
        assert_eq!(press("replay", &[("after", "99")]).await.status, 422);
        assert_contains(&said(&press("enable", &[]).await), &["continues with the first event"]);
        assert_eq!(press("explode", &[]).await.status, 404);
        assert_eq!(said(&press("delete", &[]).await), "Webhook h is deleted.");
        assert_contains(&shown(&server, "/ui/webhooks").await, &["No webhooks"]);
        let did = ["webhook_create", "webhook_disable", "webhook_enable", "webhook_remove"];
        assert_eq!(server.column("/api/audit", "action").await, did);
    });
}

/// The names of queues in exported lines.
fn reasons(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| line["reason"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_audit_log_is_filtered_and_exported() {
    on_both_stores_without_redirects(async |mut server| {
        assert_contains(&shown(&server, "/ui/audit").await, &["The audit log is empty"]);
        for queue in ["mail", "=cmd()", "images"] {
            server.post_ok("/api/queues/pause-me/pause", &json!({})).await;
            server.post_ok("/api/queues/pause-me/resume", &json!({})).await;
            server.post_ok(&format!("/api/queues/{}/pause", queue.replace('=', "%3D")), &json!({})).await;
        }
        let page = shown(&server, "/ui/audit").await;
        assert_contains(&page, &["admin:open", "images", "=cmd()", "resume", "&quot;paused&quot;: true"]);
        let page = shown(&server, "/ui/audit?action=resume&actor=ADMIN&since=1h").await;
        assert_eq!(page.matches("<tr>").count(), 4, "a header and three lines: {page}");
        assert_contains(&page, &["Searched 9 lines.", "value=\"resume\""]);
        assert_contains(&shown(&server, "/ui/audit?text=imag").await, &["images"]);
        assert_lacks(&shown(&server, "/ui/audit?text=imag").await, &["=cmd()"]);
        assert_contains(
            &shown(&server, "/ui/audit?until=2020-01-01T00:00:00Z").await,
            &["None of 9 lines matches."],
        );
        assert_eq!(super::ask(&server, "/ui/audit?since=yesterday").await.status, 400);
        assert_eq!(super::ask(&server, "/ui/audit?colour=red").await.status, 400);

        let export = server.get("/ui/audit/export?format=jsonl&action=pause").await;
        assert_eq!(export.header("content-disposition"), Some("attachment; filename=\"audit.jsonl\""));
        assert_eq!(reasons(&export.text), ["images", "pause-me", "=cmd()", "pause-me", "mail", "pause-me"]);
        let export = server.get("/ui/audit/export?format=csv&text=cmd").await;
        assert_eq!(export.header("content-type"), Some("text/csv; charset=utf-8"));
        let lines: Vec<&str> = export.text.lines().collect();
        assert_eq!((lines.len(), lines[0]), (2, "id,time,actor,action,job,reason,details"));
        assert_contains(lines[1], &["\"admin:open\",\"pause\",\"\",\"'=cmd()\""]);

        // Pages and exports are for callers that may see the system.
        let [producer, ..] = create_keys(&mut server).await;
        for path in ["/ui/audit", "/ui/audit/export", "/ui/schedules", "/ui/webhooks"] {
            assert_eq!(server.get_as(&producer, path).await.status, 403, "{path}");
        }
    });
}

#[test]
fn a_viewer_may_not_change_schedules_and_webhooks() {
    on_both_stores_without_redirects(async |mut server: Server| {
        let body = json!({ "id": "s", "cron": "0 0 1 1 *", "job": { "type": "a" } });
        server.post("/api/schedules", &body).await.expect(201);
        let hook = json!({ "id": "h", "url": "https://1.1.1.1/" });
        server.post("/api/webhooks", &hook).await.expect(201);
        let [_, _, _, viewer, _] = create_keys(&mut server).await;
        for path in ["/ui/schedules", "/ui/schedules/s", "/ui/webhooks", "/ui/webhooks/h"] {
            let page = server.request("GET", path).key(&viewer).header("accept", "text/html").send().await;
            assert_eq!(page.status, 200, "{path}");
            let main = page.text.split("<main").nth(1).unwrap();
            let buttons = main.matches("<button type=\"submit\"").count()
                + main.matches("<button class=\"danger\" type=\"submit\"").count();
            assert!(buttons > 0, "{path}");
            assert_eq!(
                buttons,
                main.matches("title=\"the role viewer may not do this\"").count(),
                "{path}: {main}"
            );
        }
        for path in
            ["/ui/schedules", "/ui/schedules/s/run", "/ui/schedules/s/delete", "/ui/webhooks/h/disable"]
        {
            let refused = super::form(&server, path, "").key(&viewer).send().await;
            assert_eq!(refused.status, 403, "{path}");
        }
        assert_eq!(column(&server.read("/api/schedules").await["schedules"], "id"), ["s"]);
    });
}
