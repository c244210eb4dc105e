//! Sample data: jobs of all five built-in lifecycles in most of their states.

use serde_json::{Value, json};
use tenure_e2e::{Server, Setup, Store};

const CONFIG: &str = include_str!("fixtures/sample_data.toml");

/// A server with sample data. Its open jobs do not change during a test.
pub(crate) async fn busy_server(store: Store) -> Server {
    let server = Setup::new(store).await.config(CONFIG).start().await;
    letters(&server).await;
    scenes(&server).await;
    orders(&server).await;
    exports(&server).await;
    pictures(&server).await;
    server.post("/api/queues/exports/pause", &json!({})).await.expect(200);
    let every_night = json!({ "id": "nightly", "cron": "0 3 * * *", "timezone": "Europe/Berlin", "job": { "type": "nightly_report" } });
    server.post("/api/schedules", &every_night).await.expect(201);
    server
}

/// Creates a job that this worker has started.
pub(crate) async fn begun(server: &Server, worker: &str, job: Value) -> Value {
    let job = server.create(job).await;
    let claim = json!({ "worker": worker, "types": [job["type"]], "queues": [job["queue"]], "max": 1, "start": true });
    let claimed = server.claim(claim).await.remove(0);
    assert_eq!(claimed["id"], job["id"], "no other job was waiting");
    claimed
}

/// Creates a job that this worker has ended by this verb.
pub(crate) async fn ended(server: &Server, worker: &str, job: Value, (verb, how): (&str, Value)) -> Value {
    let begun = begun(server, worker, job).await;
    server.report(&begun, verb, how).await.expect(200)
}

async fn letters(server: &Server) {
    let invoice = |number: u32| json!({ "type": "send_invoice", "user_id": "ada", "payload": { "invoice": number, "to": "ada@example.org", "total": "118.00" } });
    for number in 0..12 {
        let sent = json!({ "result": { "message_id": format!("<{number}@mail>"), "bytes": 18_204 } });
        ended(server, "mail-1", invoice(2000 + number), ("succeed", sent)).await;
    }
    let refused = json!({ "error": { "code": "MAILBOX_UNKNOWN", "message": "550 5.1.1 no such mailbox: ada@example.org", "class": "permanent", "stage": "output" } });
    ended(server, "mail-2", invoice(3001), ("fail", refused)).await;
    for number in 0..3 {
        let mut late = invoice(3100 + number);
        late["correlation_id"] = json!("month-end");
        late["max_attempts"] = json!(1);
        let timed_out = json!({ "error": { "code": "SMTP_TIMEOUT", "message": "no answer from the relay after 30 s", "stage": "fetch" } });
        ended(server, "mail-2", late, ("fail", timed_out)).await;
    }
    let running = begun(server, "mail-1", invoice(4000)).await;
    server
        .report(&running, "progress", json!({ "progress": 40, "message": "rendering the page" }))
        .await
        .expect(200);
    let lines = json!({ "lines": [
        { "stream": "stdout", "level": "info", "text": "template invoice-v3 loaded" },
        { "stream": "stdout", "level": "info", "text": "rendering page 1 of 2" },
        { "stream": "stderr", "level": "warn", "text": "font Lato is missing, using DejaVu" },
    ] });
    server.report(&running, "logs", lines).await.expect(200);
    let stopped = server.create(invoice(4001)).await;
    server.call(&stopped, "cancel", &json!({ "reason": "sent twice" })).await.expect(200);
    for number in 0..4 {
        server.create(invoice(5000 + number)).await;
    }
    server.create(json!({ "type": "nightly_report", "delay": "2h" })).await;
}

async fn scenes(server: &Server) {
    let scene = |name: &str| json!({ "type": "render_scene", "user_id": "grace", "payload": { "scene": name, "frames": 240 } });
    for name in ["harbour", "forest", "night"] {
        ended(server, "gpu-1", scene(name), ("succeed", json!({ "result": { "frames": 240 } }))).await;
    }
    let failed = json!({ "error": { "code": "OUT_OF_MEMORY", "message": "texture atlas needs 9.1 GiB, 8 GiB are there", "stage": "exec" } });
    ended(server, "gpu-2", scene("city"), ("fail", failed)).await;
    begun(server, "gpu-1", scene("desert")).await;
    server.create(scene("river")).await;
}

async fn orders(server: &Server) {
    let order = |shop: &str| json!({ "type": "sync_orders", "payload": { "shop": shop } });
    for shop in ["north", "south"] {
        ended(server, "sync-1", order(shop), ("succeed", json!({ "result": { "orders": 112 } }))).await;
    }
    let failed =
        json!({ "error": { "code": "HTTP_502", "message": "the shop answered 502", "stage": "fetch" } });
    ended(server, "sync-1", order("east"), ("fail", failed)).await;
    begun(server, "sync-1", order("west")).await;
    let stopped = server.create(order("old")).await;
    server.call(&stopped, "cancel", &json!({})).await.expect(200);
}

async fn exports(server: &Server) {
    let export =
        |table: &str| json!({ "type": "export_table", "user_id": "edsger", "payload": { "table": table } });
    ended(server, "export-1", export("customers"), ("succeed", json!({ "result": { "rows": 90_412 } })))
        .await;
    let half = json!({ "result": { "rows": 12 }, "error": { "code": "ROWS_SKIPPED", "message": "3 rows are not UTF-8" } });
    ended(server, "export-1", export("notes"), ("partial", half)).await;
    let running = begun(server, "export-1", export("orders")).await;
    server
        .report(&running, "progress", json!({ "progress": 72, "message": "72,000 rows" }))
        .await
        .expect(200);
    server.create(export("returns")).await;
}

async fn pictures(server: &Server) {
    server
        .post("/api/accounts/grace/credits", &json!({ "grant": 20, "reason": "welcome" }))
        .await
        .expect(200);
    let picture = |prompt: &str| json!({ "type": "make_picture", "user_id": "grace", "payload": { "prompt": prompt, "params": { "steps": 30 } } });
    ended(
        server,
        "gpu-3",
        picture("a lighthouse"),
        ("succeed", json!({ "result": { "url": "https://pictures.example/1.png" } })),
    )
    .await;
    ended(server, "gpu-3", picture("something forbidden"), ("reject", json!({ "reason": "unsafe prompt" })))
        .await;
    let crashed = json!({ "error": { "code": "CUDA_ERROR", "message": "device-side assert triggered", "stage": "exec" } });
    ended(server, "gpu-3", picture("a broken mirror"), ("fail", crashed.clone())).await;
    let mut twice = picture("a patient cat");
    twice["max_attempts"] = json!(2);
    ended(server, "gpu-3", twice, ("fail", crashed)).await;
    begun(server, "gpu-3", picture("a red bicycle")).await;
    server.create(picture("a quiet street")).await;
}
