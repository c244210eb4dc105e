//! Errors: groups, rows and actions.

use serde_json::{Value, json};
use tenure_e2e::{Server, eventually, id};

use super::{Look, ask, assert_contains, assert_lacks, on_both_stores_without_redirects, said, send, shown};
use crate::roles::create_keys;

/// Creates a job that fails its only attempt.
async fn create_dead(server: &Server, error: Value) -> Value {
    crate::dead_letters::create_dead(server, json!({ "type": "a" }), error).await
}

async fn open(server: &Server) -> usize {
    server.rows("/api/dead-letters").await.len()
}

const GROUP: &str = "/ui/errors?code=E1&message=order%20%23%20is%20%3Cslow%3E";

/// A job that fails for good without a dead letter.
async fn create_failed(server: &Server, error: Value) -> Value {
    let job = server.create_claimed(json!({ "type": "b", "user_id": "ada" })).await;
    server.report_ok(&job, "fail", json!({ "error": error })).await
}

#[test]
fn errors_are_grouped_by_code_and_normalised_message() {
    on_both_stores_without_redirects(async |server| {
        assert_contains(&shown(&server, "/ui/errors").await, &["No errors"]);
        let slow = |order: u32| json!({ "code": "E1", "message": format!("order {order} is <slow>"), "stage": "fetch" });
        let first = create_dead(&server, slow(1)).await;
        let second = create_dead(&server, slow(2)).await;
        let failed = json!({ "code": "E1", "message": "order 3 is <slow>", "class": "permanent" });
        let failed = create_failed(&server, failed).await;
        let other = create_dead(&server, json!({ "code": "E2", "message": "no" })).await;
        // Groups are cached for a time that depends on their cost, and attempts are counted by the statistics.
        let is_there = async || {
            let page = ask(&server, "/ui/errors").await.text;
            page.contains("1 failed job, 3 dead letters and 4 failed attempts")
        };
        eventually("the page has them", is_there).await;
        let page = shown(&server, "/ui/errors").await;
        let location = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
        assert!(location("<code>E1</code>") < location("<code>E2</code>"), "the biggest first: {page}");
        assert_contains(&page, &[&GROUP.replace('&', "&amp;"), "/ui/jobs?user_id=ada", ">new<"]);
        assert_contains(&page, &["/ui/types/a", "/ui/types/b", "order 3 is &lt;slow&gt;"]);
        assert_lacks(&page, &["<slow>"]);
        let of_type = shown(&server, "/ui/errors?type=b").await;
        assert_contains(&of_type, &["<code>E1</code>"]);
        assert_lacks(&of_type, &["<code>E2</code>"]);

        let page = shown(&server, GROUP).await;
        assert_contains(&page, &[id(&first), id(&second), id(&failed), "2 dead letters and 1 failed job"]);
        assert_lacks(&page, &[id(&other)]);
        let plain = shown(&server, "/ui/errors?code=E2").await;
        assert_contains(&plain, &[id(&other)]);
        assert_lacks(&plain, &[id(&first)]);
        // A dead letter that another operator dismissed is marked in place.
        let mut open_page = Look::at(&server, &page).await;
        let cell = format!("d-{}", id(&second).replace('-', ""));
        open_page.until(&cell, Value::is_string).await;
        let dismiss = format!("/api/dead-letters/{}/dismiss", id(&second));
        server.post_ok(&dismiss, &json!({ "reason": "seen" })).await;
        open_page.until(&cell, Value::is_null).await;
        let page = shown(&server, "/ui/errors?dismissed=true").await;
        assert_contains(&page, &[id(&second), "<td>seen</td>"]);
        assert_eq!(ask(&server, "/ui/errors?message=x").await.status, 400);
    });
}

#[test]
fn the_errors_of_a_type_and_their_redrive_leave_out_other_types() {
    on_both_stores_without_redirects(async |server| {
        for job_type in ["a", "a", "b"] {
            let slow = json!({ "code": "E1", "message": "slow" });
            crate::dead_letters::create_dead(&server, json!({ "type": job_type }), slow).await;
        }
        let counts = "0 failed jobs, 1 dead letter and 1 failed attempt of";
        let is_there = async || ask(&server, "/ui/errors?type=b").await.text.contains(counts);
        eventually("the page counts the jobs of the type", is_there).await;
        let page = shown(&server, "/ui/errors?type=b").await;
        assert_contains(&page, &["/ui/errors?code=E1&amp;message=slow&amp;type=b\""]);
        let page = shown(&server, "/ui/errors?code=E1&message=slow&type=b").await;
        assert_contains(&page, &["1 dead letter.", "q=error%3AE1%20type%3Ab"]);
        assert_contains(
            &page,
            &["/ui/errors/actions?code=E1&amp;message=slow&amp;type=b&amp;action=redrive"],
        );
        let confirm = "/ui/errors/actions?code=E1&message=slow&type=b&action=redrive";
        let page = shown(&server, confirm).await;
        assert_contains(
            &page,
            &["1 dead letter", "E1: slow, in jobs of type b", "name=\"type\" value=\"b\""],
        );
        let fields =
            [("code", "E1"), ("message", "slow"), ("type", "b"), ("action", "redrive"), ("settle", "yes")];
        let reply = send(&server, "/ui/errors/actions", &fields).await;
        assert_eq!(said(&reply), "Redrove 1 of 1, and dismissed them.");
        assert_eq!(open(&server).await, 2, "those of the other type");
    });
}

#[tokio::test]
async fn the_errors_of_a_type_include_dead_letters_of_old_jobs() {
    let server = Server::sqlite().await;
    create_dead(&server, json!({ "code": "E1", "message": "old" })).await;
    for _ in 0..11 {
        let jobs = vec![json!({ "type": "b" }); 1000];
        server.post("/api/jobs/batch", &json!({ "jobs": jobs })).await.expect(200);
    }
    // The dead job is no longer among the newest 10,000.
    assert_contains(&shown(&server, "/ui/errors?type=a").await, &["1 dead letter", "<code>E1</code>"]);
    let page = shown(&server, "/ui/errors?type=b").await;
    assert_contains(&page, &["No errors: no failed jobs among the newest 10,000 jobs"]);
}

#[test]
fn the_former_addresses_of_dead_letters_lead_to_the_errors() {
    on_both_stores_without_redirects(async |server| {
        let pairs = [
            ("/ui/dead-letters", "/ui/errors"),
            ("/ui/dead-letters?dismissed=true", "/ui/errors?dismissed=true"),
            ("/ui/dead-letters?reason_code=timeout&stage=exec&code=E%201", "/ui/errors?code=E%201"),
        ];
        for (from, to) in pairs {
            let reply = ask(&server, from).await;
            assert_eq!((reply.status, reply.header("location")), (308, Some(to)), "{from}");
        }
    });
}

#[test]
fn selected_dead_letters_are_redriven_or_dismissed() {
    on_both_stores_without_redirects(async |server| {
        let error = json!({ "code": "E1", "message": "order 1 is <slow>", "stage": "fetch" });
        let first = create_dead(&server, error.clone()).await;
        let second = create_dead(&server, error).await;
        let live = server.create(json!({ "type": "b" })).await;
        let act = "/ui/errors/actions";
        let jobs = [("job", id(&first)), ("job", id(&live))];
        let fields = [&jobs[..], &[("action", "redrive"), ("reason", ""), ("back", GROUP)]].concat();
        let reply = send(&server, act, &fields).await;
        let answer = said(&reply);
        assert!(answer.starts_with("Redrove 1 of 2; 1 refused: there is no dead letter"), "{answer}");
        assert_eq!(reply.header("location"), Some(GROUP));
        assert_eq!(open(&server).await, 2, "a letter stays unless it is settled");
        let fields = [("job", id(&first)), ("action", "redrive"), ("settle", "yes"), ("back", GROUP)];
        assert_eq!(said(&send(&server, act, &fields).await), "Redrove 1 of 1, and dismissed them.");
        assert_eq!(open(&server).await, 1);
        assert_eq!(server.list(&format!("retry_of={}", id(&first))).await.len(), 2);
        let dismiss = [("job", id(&second)), ("action", "dismiss"), ("back", GROUP), ("settle", "yes")];
        assert_eq!(send(&server, act, &dismiss).await.status, 400, "a reason is needed");
        let dismiss = [&dismiss[..], &[("reason", "known")]].concat();
        assert_eq!(said(&send(&server, act, &dismiss).await), "Dismissed 1 of 1.");
        assert_eq!(open(&server).await, 0);
    });
}

#[test]
fn a_group_action_shows_the_number_of_dead_letters_first() {
    on_both_stores_without_redirects(async |mut server| {
        for _ in 0..3 {
            create_dead(&server, json!({ "code": "E1", "message": "order 1 is <slow>", "stage": "fetch" }))
                .await;
        }
        create_dead(&server, json!({ "code": "E2", "message": "no", "stage": "fetch" })).await;
        let group = [("code", "E1"), ("message", "order # is <slow>")];
        let confirm =
            |action: &str| format!("/ui/errors/actions?{}&action={action}", GROUP.split_once('?').unwrap().1);
        assert_contains(&shown(&server, GROUP).await, &[&confirm("redrive").replace('&', "&amp;")]);
        let page = shown(&server, &confirm("redrive")).await;
        assert_contains(&page, &["3 dead letters", "E1: order # is &lt;slow&gt;"]);
        let fast = [&group[..], &[("action", "redrive"), ("max_per_second", "0")]].concat();
        assert_eq!(send(&server, "/ui/errors/actions", &fast).await.status, 400);
        let slow = [("action", "redrive"), ("max_per_second", "0.001"), ("settle", "yes")];
        let fields = [&group[..], &slow].concat();
        let reply = send(&server, "/ui/errors/actions", &fields).await;
        assert_eq!(said(&reply), "Redrove 3 of 3, and dismissed them.");
        let due = server.claim(json!({ "worker": "w1", "max": 10 })).await;
        assert_eq!(due.len(), 1, "the others are not due");
        assert_eq!(open(&server).await, 1, "the other kind is still there");

        let [producer, worker, _, viewer, _] = create_keys(&mut server).await;
        server.use_key(Some(&viewer));
        let other = "/ui/errors?code=E2";
        assert!(shown(&server, other).await.contains("the role viewer may not do this"));
        assert_eq!(send(&server, "/ui/errors/actions", &fields).await.status, 403);
        server.use_key(Some(&producer));
        // Jobs of other users are hidden.
        assert_contains(&shown(&server, "/ui/errors").await, &["No errors"]);
        server.use_key(Some(&worker));
        assert_eq!(ask(&server, "/ui/errors").await.status, 403);
    });
}
