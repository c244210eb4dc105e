//! Live streams: the log of a job and the feed of all events.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_e2e::*;

use crate::jobs::{EVENT, REVIEW_FILES};

async fn log(server: &Server, job: &Value, texts: &[&str]) {
    let lines: Vec<Value> = texts.iter().map(|text| json!({ "text": text })).collect();
    server.report_ok(job, "logs", json!({ "lines": lines })).await;
}

#[test]
fn a_stream_sends_every_log_line_then_the_status_and_ends() {
    on_both_stores(async |server| {
        let claimed = server.create_claimed(json!({ "type": "a" })).await;
        log(&server, &claimed, &["one", "two\nlines"]).await;
        let mut stream = server.stream(&path(&claimed, "stream"), None).await;
        let first = stream.next().await.expect("the first line");
        assert_eq!((first.event.as_str(), first.id.as_str()), ("log", "1"));
        assert_field_names(&first.data, "n ts stream level text");
        assert_eq!(first.data["text"], "one");
        assert_eq!(stream.next().await.expect("the second line").data["text"], "two\nlines");
        // Live from here on.
        log(&server, &claimed, &["three"]).await;
        let third = stream.next().await.expect("the third line");
        assert_eq!((third.id.as_str(), &third.data["text"]), ("3", &json!("three")));
        log(&server, &claimed, &["four"]).await;
        server.report_ok(&claimed, "succeed", json!({ "result": { "n": 4 } })).await;
        let rest = stream.rest().await;
        let kinds: Vec<&str> = rest.iter().map(|received| received.event.as_str()).collect();
        assert_eq!(kinds, ["log", "status"]);
        let status = &rest[1];
        assert_fields(&status.data, json!({ "state": "succeeded", "output": { "n": 4 } }));
        // From the start, although the job is final.
        let all = server.stream(&path(&claimed, "stream"), None).await.rest().await;
        assert_eq!(all.len(), 5);
        assert_eq!(all[4], *status);
        // After the last event of the client.
        let some = server.stream(&path(&claimed, "stream"), Some("3")).await.rest().await;
        assert_eq!(some, all[3..]);
        // A client that has seen the end gets a 204.
        let after = async |id: &str| {
            server.request("GET", &path(&claimed, "stream")).header("last-event-id", id).send().await
        };
        let finished = after(&status.id).await;
        assert_eq!((finished.status, finished.text.as_str()), (204, ""));
        after("x").await.problem(400, "malformed");
    });
}

#[test]
fn an_open_stream_receives_a_cancel() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let stream = server.stream(&path(&job, "stream"), None).await;
        server.call_ok(&job, "cancel", &json!({})).await;
        let received = stream.rest().await;
        assert_eq!(received.len(), 1);
        assert_eq!((received[0].event.as_str(), &received[0].data["state"]), ("status", &json!("cancelled")));
        assert_eq!(received[0].data["output"], Value::Null);
    });
}

#[test]
fn many_log_lines_arrive_whole_and_in_order() {
    on_both_stores(async |server| {
        let claimed = server.create_claimed(json!({ "type": "a" })).await;
        let stream = server.stream(&path(&claimed, "stream"), None).await;
        let write = async {
            for part in 0..12 {
                let texts: Vec<String> = (0..100).map(|line| format!("{}", part * 100 + line)).collect();
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                log(&server, &claimed, &texts).await;
            }
            server.succeed(&claimed).await;
        };
        let (received, ()) = tokio::join!(stream.rest(), write);
        assert_eq!(received.len(), 1201);
        for (index, line) in received[..1200].iter().enumerate() {
            assert_fields(&line.data, json!({ "n": index + 1, "text": index.to_string() }));
        }
    });
}

#[test]
fn the_feed_has_every_event_in_pages() {
    on_both_stores(async |server| {
        let empty = server.read("/api/events").await;
        assert_eq!(field_names(&empty), ["events", "next_cursor"]);
        assert_eq!(empty["events"], json!([]));
        let start = empty["next_cursor"].as_str().expect("never null").to_owned();
        let jobs = [
            server.create_finished(json!({ "type": "a" })).await,
            server.create_finished(json!({ "type": "a" })).await,
            server.create_finished(json!({ "type": "a" })).await,
        ];
        let (mut seen, mut after) = (Vec::new(), start);
        loop {
            let page = server.read(&format!("/api/events?limit=5&after={after}")).await;
            let rows = rows(&page["events"]);
            assert!(rows.len() <= 5);
            page["next_cursor"].as_str().expect("never null").clone_into(&mut after);
            if rows.is_empty() {
                break;
            }
            seen.extend(rows.iter().cloned());
        }
        assert_eq!(seen.len(), 12);
        assert!(seen.iter().all(|event| field_names(event) == sorted_words(EVENT)));
        assert_eq!(seen, server.journal().await);
        for job in &jobs {
            let own: Vec<&Value> = seen.iter().filter(|event| event["job_id"] == job["id"]).collect();
            assert_eq!(own, server.events(job).await.iter().collect::<Vec<_>>());
        }
        // The cursor of the end stays valid, and new events come after it.
        let page = server.read(&format!("/api/events?after={after}")).await;
        assert_fields(&page, json!({ "events": [], "next_cursor": after }));
        server.create(json!({ "type": "b" })).await;
        assert_eq!(server.column(&format!("/api/events?after={after}"), "type").await, ["job_queued"]);
        for bad in ["after=x", "limit=501", "colour=red"] {
            server.get(&format!("/api/events?{bad}")).await.problem(400, "malformed");
        }
    });
}

#[test]
fn each_filter_of_the_feed_selects_its_events() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let job = server.create_finished(json!({ "type": "a", "user_id": "u1" })).await;
        server.create(json!({ "type": "b", "correlation_id": "c-1" })).await;
        server.create(json!({ "type": "review", "user_id": "u2" })).await;
        let kinds = async |query: &str| server.column(&format!("/api/events?{query}"), "type").await;
        let life = ["job_queued", "job_claimed", "job_started", "job_succeeded"];
        assert_eq!(kinds("").await.len(), 6);
        assert_eq!(kinds("type=job_succeeded").await, ["job_succeeded"]);
        assert_eq!(kinds("lifecycle=review").await.len(), 1);
        assert_eq!(kinds(&format!("job_id={}", id(&job))).await, life);
        assert_eq!(kinds("correlation_id=c-1").await, ["job_queued"]);
        assert_eq!(kinds("user_id=u1").await, life);
        assert_eq!(kinds("user_id=u1&type=job_started").await, ["job_started"]);
        let page = server.read("/api/events?type=nothing").await;
        let after = page["next_cursor"].as_str().unwrap().to_owned();
        assert_eq!(page["events"], json!([]));
        assert_eq!(kinds(&format!("after={after}")).await.len(), 0, "the cursor passed what did not match");
    });
}

#[test]
fn the_live_feed_resumes_after_the_last_event_id() {
    on_both_stores(async |server| {
        server.create_finished(json!({ "type": "a" })).await;
        let mut live = server.stream("/api/events", None).await;
        let mut received = Vec::new();
        for _ in 0..4 {
            received.push(live.next().await.expect("history first"));
        }
        assert_eq!(received[3].event, "job_succeeded");
        assert_field_names(&received[3].data, EVENT);
        server.create_finished(json!({ "type": "b" })).await;
        for _ in 0..4 {
            received.push(live.next().await.expect("then live"));
        }
        drop(live);
        let data: Vec<Value> = received.iter().map(|received| received.data.clone()).collect();
        assert_eq!(data, server.journal().await);
        let mut again = server.stream("/api/events", Some(&received[2].id)).await;
        for expected in &received[3..] {
            assert_eq!(again.next().await.as_ref(), Some(expected));
        }
        // The id of an event is the cursor of its page.
        let page = server.read(&format!("/api/events?limit=1&after={}", received[4].id)).await;
        assert_eq!((&page["events"][0], &page["next_cursor"]), (&received[5].data, &json!(received[5].id)));
        let mut filtered = server.stream("/api/events?type=job_succeeded", None).await;
        assert_eq!(filtered.next().await.as_ref(), Some(&received[3]));
        assert_eq!(filtered.next().await.as_ref(), Some(&received[7]));
    });
}

#[test]
fn concurrent_writes_leave_no_gap_in_the_feed() {
    const WRITERS: usize = 8;
    const EACH: usize = 25;
    on_both_stores(async |server| {
        let server = std::sync::Arc::new(server);
        let total = WRITERS * EACH * 4;
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..WRITERS {
            let server = std::sync::Arc::clone(&server);
            writers.spawn(async move {
                for _ in 0..EACH {
                    let kind = format!("t{writer}");
                    server.create(json!({ "type": kind })).await;
                    let claim = json!({ "worker": kind, "types": [kind], "start": true, "wait": "10s" });
                    server.succeed(&server.claim(claim).await[0]).await;
                }
            });
        }
        let live = async {
            // One reader stays connected, one reconnects every few events.
            let mut stream = server.stream("/api/events", None).await;
            let mut received = Vec::new();
            while received.len() < total {
                received.push(stream.next().await.expect("the feed does not end"));
            }
            received
        };
        let halting = async {
            let (mut received, mut last) = (Vec::new(), None);
            while received.len() < total {
                let mut stream = server.stream("/api/events", last.as_deref()).await;
                for _ in 0..37.min(total - received.len()) {
                    received.push(stream.next().await.expect("the feed does not end"));
                }
                last = received.last().map(|it| it.id.clone());
            }
            received
        };
        let paging = async {
            let (mut events, mut after) = (Vec::new(), "0".to_owned());
            while events.len() < total {
                let page = server.read(&format!("/api/events?limit=11&after={after}")).await;
                events.extend_from_slice(rows(&page["events"]));
                page["next_cursor"].as_str().unwrap().clone_into(&mut after);
            }
            events
        };
        let (live, halting, paged) = tokio::join!(live, halting, paging);
        writers.join_all().await;
        let journal = server.journal().await;
        assert_eq!(journal.len(), total);
        assert_eq!(live, halting);
        let live: Vec<Value> = live.into_iter().map(|event| event.data).collect();
        assert!(live == journal && paged == journal, "each in the order of the commits");
        let ids: BTreeSet<String> = journal.iter().map(|event| event["id"].to_string()).collect();
        assert_eq!(ids.len(), total);
    });
}

#[tokio::test]
async fn two_nodes_serve_the_same_feed() {
    let one = Server::postgres().await;
    let two = one.second_node().await;
    let mut on_two = two.stream("/api/events", None).await;
    let mut on_one = one.stream("/api/events", None).await;
    for (server, other) in [(&one, &two), (&two, &one), (&one, &two), (&two, &one)] {
        let job = server.create(json!({ "type": "a" })).await;
        assert_eq!(other.job(&job).await, job, "what is answered is seen everywhere");
        other.call_ok(&job, "cancel", &json!({})).await;
    }
    for _ in 0..8 {
        assert_eq!(on_one.next().await.expect("live"), on_two.next().await.expect("live"));
    }
    assert_eq!(one.journal().await, two.journal().await);
}
