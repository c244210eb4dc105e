//! Dead letters: groups, rows and actions.

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

const GROUP: &str = "/ui/dead-letters?reason_code=exhausted_retries&stage=fetch&code=E1";

#[test]
fn dead_letters_are_grouped_by_error() {
    on_both_stores_without_redirects(async |server| {
        assert_contains(&shown(&server, "/ui/dead-letters").await, &["No open dead letters"]);
        let slow = json!({ "code": "E1", "message": "too <slow>", "stage": "fetch" });
        let first = create_dead(&server, slow.clone()).await;
        let second = create_dead(&server, slow).await;
        let other = create_dead(&server, json!({ "code": "E2", "message": "no" })).await;
        // Groups are cached for a time that depends on their cost.
        let is_there = async || ask(&server, "/ui/dead-letters").await.text.contains("3 dead letters");
        eventually("the inbox has them", is_there).await;
        let page = shown(&server, "/ui/dead-letters").await;
        // Newest group first.
        let location = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
        assert!(location("<code>E2</code>") < location("<code>E1</code>"), "{page}");
        assert_contains(&page, &[&GROUP.replace('&', "&amp;"), "3 dead letters"]);
        assert_contains(&page, &["too &lt;slow&gt;"]);
        assert_lacks(&page, &["<slow>"]);

        let page = shown(&server, GROUP).await;
        assert_contains(&page, &[id(&first), id(&second)]);
        assert_lacks(&page, &[id(&other)]);
        let plain = shown(&server, "/ui/dead-letters?reason_code=exhausted_retries&code=E2").await;
        assert_contains(&plain, &[id(&other)]);
        assert_lacks(&plain, &[id(&first)]);
        // A dead letter that another operator dismissed is marked in place.
        let mut open_page = Look::at(&server, &page).await;
        let cell = format!("d-{}", id(&second).replace('-', ""));
        open_page.until(&cell, Value::is_string).await;
        let dismiss = format!("/api/dead-letters/{}/dismiss", id(&second));
        server.post_ok(&dismiss, &json!({ "reason": "seen" })).await;
        open_page.until(&cell, Value::is_null).await;
        let page = shown(&server, "/ui/dead-letters?dismissed=true").await;
        assert_contains(&page, &[id(&second), "<td>seen</td>"]);
        assert_eq!(ask(&server, "/ui/dead-letters?code=E1").await.status, 400);
    });
}

#[test]
fn selected_dead_letters_are_redriven_or_dismissed() {
    on_both_stores_without_redirects(async |server| {
        let error = json!({ "code": "E1", "message": "no", "stage": "fetch" });
        let first = create_dead(&server, error.clone()).await;
        let second = create_dead(&server, error).await;
        let live = server.create(json!({ "type": "b" })).await;
        let act = "/ui/dead-letters/actions";
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
        assert!(shown(&server, "/ui/dead-letters").await.contains("No open dead letters"));
    });
}

#[test]
fn a_group_action_shows_the_number_of_dead_letters_first() {
    on_both_stores_without_redirects(async |mut server| {
        for _ in 0..3 {
            create_dead(&server, json!({ "code": "E1", "message": "no", "stage": "fetch" })).await;
        }
        create_dead(&server, json!({ "code": "E2", "message": "no", "stage": "fetch" })).await;
        let group = [("reason_code", "exhausted_retries"), ("stage", "fetch"), ("code", "E1")];
        let confirm = |action: &str| {
            format!("/ui/dead-letters/actions?{}&action={action}", GROUP.split_once('?').unwrap().1)
        };
        assert_contains(&shown(&server, GROUP).await, &[&confirm("redrive").replace('&', "&amp;")]);
        let page = shown(&server, &confirm("redrive")).await;
        assert_contains(&page, &["3 dead letters", "exhausted_retries in fetch: E1"]);
        let fast = [&group[..], &[("action", "redrive"), ("max_per_second", "0")]].concat();
        assert_eq!(send(&server, "/ui/dead-letters/actions", &fast).await.status, 400);
        let slow = [("action", "redrive"), ("max_per_second", "0.001"), ("settle", "yes")];
        let fields = [&group[..], &slow].concat();
        let reply = send(&server, "/ui/dead-letters/actions", &fields).await;
        assert_eq!(said(&reply), "Redrove 3 of 3, and dismissed them.");
        let due = server.claim(json!({ "worker": "w1", "max": 10 })).await;
        assert_eq!(due.len(), 1, "the others are not due");
        assert_eq!(open(&server).await, 1, "the other kind is still there");

        let [producer, worker, _, viewer, _] = create_keys(&mut server).await;
        server.use_key(Some(&viewer));
        let other = GROUP.replace("E1", "E2");
        assert!(shown(&server, &other).await.contains("the role viewer may not do this"));
        assert_eq!(send(&server, "/ui/dead-letters/actions", &fields).await.status, 403);
        server.use_key(Some(&producer));
        // Jobs of other users are hidden.
        assert_contains(&shown(&server, "/ui/dead-letters").await, &["No open dead letters"]);
        server.use_key(Some(&worker));
        assert_eq!(ask(&server, "/ui/dead-letters").await.status, 403);
    });
}
