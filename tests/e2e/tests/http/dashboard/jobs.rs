//! The list of jobs, its forms, and the search.

use reqwest::Url;
use serde_json::{Value, json};
use tenure_e2e::id;

use super::{
    Look, ask, assert_contains, assert_lacks, contains, inside, on_both_stores_without_redirects, said, send,
    shown,
};
use crate::roles::create_keys;

fn cell(letter: char, job: &Value) -> String {
    format!("{letter}-{}", id(job).replace('-', ""))
}

fn row_count(page: &str) -> usize {
    page.matches("name=\"job\"").count()
}

#[test]
fn an_empty_list_explains_why_and_suggests_a_next_step() {
    on_both_stores_without_redirects(async |server| {
        assert_contains(&shown(&server, "/ui/jobs").await, &["No jobs yet", "tenure run hello"]);
        server.create(json!({ "type": "a" })).await;
        let page = shown(&server, "/ui/jobs?lifecycle=distributed&state=succeeded").await;
        assert_contains(&page, &["No jobs: lifecycle distributed, state succeeded."]);
        let page = shown(&server, "/ui/jobs?phase=ready&type=b").await;
        assert_contains(&page, &["No jobs match: phase ready, type b."]);
        assert_contains(&page, &["<a href=\"/ui/jobs?phase=ready\">Clear the filter</a>"]);
        let page = shown(&server, "/ui/jobs?lifecycle=image").await;
        assert_contains(&page, &["No jobs of lifecycle image yet"]);
    });
}

#[test]
fn a_row_shows_the_state_and_the_error_of_a_job() {
    on_both_stores_without_redirects(async |server| {
        let hostile = "<script>alert(1)</script>";
        let asked = json!({ "type": "a", "user_id": hostile, "max_attempts": 1 });
        let claimed = server.create_claimed(asked).await;
        server.report_ok(&claimed, "progress", json!({ "progress": 40, "message": "\"half\"" })).await;
        let error = json!({ "error": { "code": "E_<b>", "message": "first <i>line\nsecond line" } });
        server.report_ok(&claimed, "fail", error).await;
        let page = shown(&server, "/ui/jobs").await;
        assert_contains(&page, &["&lt;script&gt;alert(1)", "E_&lt;b&gt;", "first &lt;i&gt;line"]);
        assert_lacks(&page, &[hostile]);
        assert!(!page.contains("second line"), "one line is enough: {page}");
        assert_contains(&page, &[&format!("href=\"/ui/jobs/{}\"", id(&claimed))]);
        assert_contains(&page, &["40 %", "w1", " of 1"]);
        assert_eq!(row_count(&page), 1);
        // With a lifecycle the tabs are its states in order; without one, the phases and outcomes.
        let page = shown(&server, "/ui/jobs?lifecycle=distributed").await;
        let location = |state: &str| page.find(&format!("state={state}\"")).expect(state);
        assert!(["queued", "assigned", "running"].map(location).is_sorted(), "{page}");
        let page = shown(&server, "/ui/jobs?outcome=dead").await;
        assert!(page.contains("href=\"/ui/jobs?phase=ready\"") && row_count(&page) == 1, "{page}");
        // Empty fields of the form are left out of the URL.
        let page = shown(&server, "/ui/jobs?type=a&queue=&worker=w1&correlation_id=").await;
        // Each filter can be removed.
        for rest in ["worker=w1", "type=a"] {
            assert_contains(&page, &[&format!("<a class=\"chip\" href=\"/ui/jobs?{rest}\"")]);
        }
        assert!(page.contains("<details open>") && row_count(&page) == 1, "{page}");
        assert!(shown(&server, "/ui/jobs").await.contains("<details>"));
        let page = shown(&server, "/ui/jobs?created_after=2020-01-01T00:00:00Z").await;
        assert!(page.contains("<details open>") && row_count(&page) == 1, "{page}");
        assert_eq!(ask(&server, "/ui/jobs?created_after=yesterday").await.status, 400);
        assert_eq!(ask(&server, "/ui/jobs?colour=red").await.status, 400);
    });
}

/// The addresses of the bars of the histogram.
fn bars(page: &str) -> Vec<String> {
    let svg = inside(page, "class=\"histogram\"", "</svg>");
    svg.split("<a href=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&"))
        .collect()
}

#[test]
fn a_histogram_leads_to_the_jobs_of_a_time() {
    on_both_stores_without_redirects(async |server| {
        assert_lacks(&shown(&server, "/ui/jobs").await, &["histogram"]);
        for n in 0..3 {
            server.create(json!({ "type": "a", "payload": { "n": n }, "max_attempts": 1 })).await;
        }
        let claimed = server.claim_next().await;
        server.report_ok(&claimed, "fail", json!({ "error": { "code": "E", "message": "" } })).await;
        let page = shown(&server, "/ui/jobs?q=type:a+since:1h").await;
        assert_contains(&page, &["3 jobs, created from", "1 failed", "unfinished"]);
        let mut found = 0;
        for bar in bars(&page) {
            assert!(bar.contains("q=type%3Aa&") || bar.ends_with("q=type%3Aa"), "{bar}");
            found += row_count(&shown(&server, &bar).await);
        }
        assert_eq!(found, 3, "each job is behind one bar");
    });
}

#[test]
fn a_view_is_saved_in_the_browser_and_removed() {
    on_both_stores_without_redirects(async |server| {
        server.create(json!({ "type": "a" })).await;
        assert_lacks(&shown(&server, "/ui/jobs").await, &["Saved views"]);
        let query = "phase=ready&q=type%3Aa";
        let page = shown(&server, &format!("/ui/jobs?{query}")).await;
        assert_contains(&page, &["Saved views", "value=\"phase=ready&amp;q=type%3Aa\""]);
        let saved = send(&server, "/ui/jobs/views", &[("name", "Ready <a>"), ("query", query)]).await;
        assert_eq!(saved.status, 303);
        assert_eq!(saved.header("location"), Some(format!("/ui/jobs?{query}").as_str()));
        let cookies = saved.headers.get_all("set-cookie").iter().map(|it| it.to_str().unwrap().to_owned());
        let cookie = cookies.into_iter().find(|it| it.starts_with("tenure_views=")).expect("it is kept");
        assert!(cookie.contains("HttpOnly") && cookie.contains("Path=/ui"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let see = async |path: &str| {
            server
                .request("GET", path)
                .header("cookie", &cookie)
                .header("accept", "text/html")
                .send()
                .await
                .text
        };
        let page = see("/ui/jobs").await;
        assert_contains(
            &page,
            &["<details class=\"views\" open>", "Ready &lt;a&gt;", "/ui/jobs?phase=ready&amp;q=type%3Aa"],
        );
        assert_contains(&see(&format!("/ui/jobs?{query}")).await, &["aria-current=\"true\">Ready &lt;a&gt;"]);
        let removed = super::form(&server, "/ui/jobs/views", "remove=Ready+%3Ca%3E")
            .header("cookie", &cookie)
            .send()
            .await;
        let gone = removed.headers.get_all("set-cookie").iter().map(|it| it.to_str().unwrap());
        assert!(gone.into_iter().any(|it| it.starts_with("tenure_views=;") && it.contains("Max-Age=0")));
        for bad in [
            [("name", ""), ("query", query)],
            [("name", "a"), ("query", "")],
            [("name", "a"), ("query", "a b")],
        ] {
            assert_eq!(send(&server, "/ui/jobs/views", &bad).await.status, 400, "{bad:?}");
        }
    });
}

#[test]
fn older_jobs_are_on_the_next_page() {
    on_both_stores_without_redirects(async |server| {
        server.create_many(60, json!({ "type": "a" })).await;
        let page = shown(&server, "/ui/jobs?type=a").await;
        assert_eq!(row_count(&page), 50);
        let (_, rest) = page.split_once("rel=\"next\" href=\"").expect("there are older ones");
        let older = rest.split('"').next().unwrap().replace("&amp;", "&");
        let page = shown(&server, &older).await;
        assert_eq!(row_count(&page), 10, "{older}");
        assert_contains(&page, &["rel=\"prev\" href=\"/ui/jobs?type=a\""]);
        assert_lacks(&page, &["rel=\"next\""]);
    });
}

#[test]
fn rows_keep_their_place_while_their_cells_change() {
    on_both_stores_without_redirects(async |server| {
        let first = server.create(json!({ "type": "a" })).await;
        let second = server.create(json!({ "type": "a" })).await;
        let all = shown(&server, "/ui/jobs").await;
        let ready = shown(&server, "/ui/jobs?lifecycle=distributed&state=queued").await;
        let mut all = Look::at(&server, &all).await;
        let mut ready = Look::at(&server, &ready).await;
        all.until(&cell('s', &second), contains("queued")).await;
        ready.until("n-queued", |part| part == "2").await;
        let third = server.create(json!({ "type": "a" })).await;
        all.until("newer", contains("1 newer")).await;
        let claimed = server.claim_one().await;
        assert_eq!(id(&claimed), id(&first));
        all.until(&cell('s', &first), contains("running")).await;
        ready.until(&cell('s', &first), Value::is_null).await;
        ready.until("newer", contains("1 newer")).await;
        let page = shown(&server, "/ui/jobs").await;
        assert!(page.contains(&cell('s', &third)), "the newest is on a new page: {page}");
        // An empty page receives the first job, too.
        let empty = shown(&server, "/ui/jobs?type=b").await;
        let mut empty = Look::at(&server, &empty).await;
        server.create(json!({ "type": "b" })).await;
        empty.until("newer", contains("1 newer")).await;
    });
}

#[test]
fn rows_of_a_query_that_looks_into_payloads_are_live() {
    on_both_stores_without_redirects(async |server| {
        let wanted = json!({ "type": "a", "payload": { "k": "x" } });
        let first = server.create(wanted.clone()).await;
        let others = vec![json!({ "type": "b" }); 300];
        server.post_ok("/api/jobs/batch", &json!({ "jobs": others })).await;
        let last = server.create(wanted.clone()).await;
        let page = shown(&server, "/ui/jobs?q=payload.k%3Ax").await;
        assert_eq!(row_count(&page), 2);
        let mut look = Look::at(&server, &page).await;
        for job in [&first, &last] {
            look.until(&cell('s', job), contains("queued")).await;
        }
        server.call_ok(&first, "cancel", &json!({})).await;
        look.until(&cell('s', &first), contains("cancelled")).await;
        server.create(wanted).await;
        look.until("newer", contains("1 newer")).await;
        // More newer jobs than one rendering examines, none of which match.
        let others = vec![json!({ "type": "b" }); 600];
        server.post_ok("/api/jobs/batch", &json!({ "jobs": others })).await;
        look.until("newer", contains("Newer jobs may match")).await;
    });
}

#[test]
fn selected_jobs_are_cancelled_or_retried() {
    on_both_stores_without_redirects(async |server| {
        let finished = server.create_finished(json!({ "type": "a" })).await;
        let one = server.create(json!({ "type": "a" })).await;
        let two = server.create(json!({ "type": "a" })).await;
        let jobs = [("job", id(&finished)), ("job", id(&one)), ("job", id(&two))];
        let back = ("back", "/ui/jobs?type=a");
        let cancel = [&jobs[..], &[("action", "cancel"), back]].concat();
        let reply = send(&server, "/ui/jobs/actions", &cancel).await;
        assert_eq!(reply.header("location"), Some("/ui/jobs?type=a"));
        let answer = said(&reply);
        assert!(answer.starts_with("Cancelled 2 of 3; 1 refused: job "), "{answer}");
        assert_eq!(server.job(&one).await["outcome"], "cancelled");
        let retry = [("job", id(&finished)), ("job", id(&one)), ("action", "retry"), back];
        assert_eq!(said(&send(&server, "/ui/jobs/actions", &retry).await), "Retried 2 of 2.");
        // A running job is asked to stop.
        let claimed = server.claim_one().await;
        let running = [("job", id(&claimed)), ("action", "cancel"), ("back", "https://example.com")];
        let reply = send(&server, "/ui/jobs/actions", &running).await;
        assert_eq!(said(&reply), "Cancelled 0 of 1; 1 asked to stop.");
        assert_eq!(reply.header("location"), Some("/ui"), "a form leads to pages of this server only");
        let none = send(&server, "/ui/jobs/actions", &[("action", "cancel"), back]).await;
        assert!(said(&none).starts_with("Nothing was selected"));
        let foreign = server.request("POST", "/ui/jobs/actions").header("origin", "http://example.com");
        let foreign = foreign.header("content-type", "application/x-www-form-urlencoded");
        assert_eq!(foreign.bytes("action=cancel").send().await.status, 403);
    });
}

#[test]
fn a_bulk_action_shows_the_number_of_matches_first() {
    on_both_stores_without_redirects(async |server| {
        server.create_many(3, json!({ "type": "a" })).await;
        server.create(json!({ "type": "b" })).await;
        let page = shown(&server, "/ui/jobs?phase=ready&type=a").await;
        let confirm = "/ui/jobs/actions?phase=ready&type=a&action=cancel";
        assert_contains(&page, &[&confirm.replace('&', "&amp;")]);
        assert!(!page.contains("Retry"), "nothing here is over: {page}");
        assert_contains(&shown(&server, "/ui/jobs?type=a").await, &["Choose a state first"]);
        let page = shown(&server, confirm).await;
        assert_contains(&page, &["3 jobs", "phase ready, type a"]);
        let fields = [("scope", "matching"), ("action", "cancel"), ("phase", "ready"), ("type", "a")];
        let reply = send(&server, "/ui/jobs/actions", &fields).await;
        assert_eq!(said(&reply), "Cancelled 3 of 3.");
        assert_eq!(reply.header("location"), Some("/ui/jobs?phase=ready&type=a"));
        assert_eq!(server.list("phase=ready").await.len(), 1);
        let page = shown(&server, "/ui/jobs?outcome=cancelled").await;
        assert_contains(&page, &["Retry"]);
        assert_lacks(&page, &["Cancel selected"]);
    });
}

#[test]
fn producers_see_and_change_only_their_jobs() {
    on_both_stores_without_redirects(async |mut server| {
        let [producer, worker, _, viewer, _] = create_keys(&mut server).await;
        let mine = server.create(json!({ "type": "a", "user_id": "u1" })).await;
        let other = server.create(json!({ "type": "a", "user_id": "u2" })).await;
        let page = shown(&server, "/ui/jobs").await;
        assert!(row_count(&page) == 2 && page.contains("id=\"n-ready\""), "{page}");

        server.use_key(Some(&viewer));
        let page = shown(&server, "/ui/jobs?phase=ready").await;
        assert!(row_count(&page) == 2 && page.contains("the role viewer may not do this"), "{page}");
        assert_lacks(&page, &["/ui/jobs/actions?"]);
        let both = [("job", id(&mine)), ("job", id(&other)), ("action", "cancel"), ("back", "/ui/jobs")];
        assert_eq!(send(&server, "/ui/jobs/actions", &both).await.status, 403);
        assert_eq!(ask(&server, "/ui/jobs/actions?action=cancel&phase=ready").await.status, 403);

        server.use_key(Some(&producer));
        let page = shown(&server, "/ui/jobs").await;
        assert!(row_count(&page) == 1 && page.contains(id(&mine)) && !page.contains(id(&other)), "{page}");
        assert!(!page.contains("id=\"n-"), "numbers would tell of others' jobs: {page}");
        assert_eq!(ask(&server, "/ui/jobs?user_id=u2").await.status, 403);
        let answer = said(&send(&server, "/ui/jobs/actions", &both).await);
        assert!(answer.starts_with("Cancelled 1 of 2; 1 refused:"), "{answer}");
        let all = [("scope", "matching"), ("action", "cancel"), ("phase", "ready")];
        assert_eq!(send(&server, "/ui/jobs/actions", &all).await.status, 403);
        let found = ask(&server, &format!("/ui/search?q={}", &id(&other)[..13])).await;
        assert!(found.header("location").is_none_or(|to| !to.contains(id(&other))), "{found:?}");

        server.use_key(Some(&worker));
        assert_eq!(row_count(&shown(&server, "/ui/jobs").await), 0);
        let held = server.claim(json!({ "worker": "w9", "max": 1 })).await.remove(0);
        let page = shown(&server, "/ui/jobs").await;
        assert!(row_count(&page) == 1 && page.contains(id(&held)), "{page}");
    });
}

#[test]
fn the_search_finds_jobs() {
    on_both_stores_without_redirects(async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let leads_to = async |query: &str| {
            let url = Url::parse_with_params("http://search/ui/search", [("q", query)]).unwrap();
            let reply = ask(&server, &format!("/ui/search?{}", url.query().unwrap())).await;
            assert_eq!(reply.status, 303, "{query}: {}", reply.text);
            reply.header("location").unwrap().to_owned()
        };
        let page_of_job = format!("/ui/jobs/{}", id(&job));
        assert_eq!(leads_to(id(&job)).await, page_of_job);
        assert_eq!(leads_to(&id(&job).replace('-', "").to_uppercase()).await, page_of_job);
        assert_eq!(leads_to(&id(&job)[..18]).await, page_of_job);
        assert_eq!(leads_to(" state:failed  user:a&b ").await, "/ui/jobs?q=state%3Afailed%20%20user%3Aa%26b");
        server.create(json!({ "type": "b" })).await;
        let page = shown(&server, &format!("/ui/search?q={}", &id(&job)[..6])).await;
        assert_contains(&page, &["2 jobs have ids that begin with"]);
        // The short form of a page finds its job among many of the same minute.
        let more = vec![json!({ "type": "c" }); 600];
        server.post_ok("/api/jobs/batch", &json!({ "jobs": more })).await;
        let short = format!("{}…{}", &id(&job)[..8], &id(&job)[32..]);
        let url = Url::parse_with_params("http://search/ui/search", [("q", short)]).unwrap();
        let reply = ask(&server, &format!("/ui/search?{}", url.query().unwrap())).await;
        // By chance another job has the same short form.
        let found = reply.header("location").unwrap_or(&reply.text);
        assert!(found.contains(&page_of_job), "{found}");
        for query in ["", "hello", "colour%3Ared", "ffff", "%3Cb%3E"] {
            let page = shown(&server, &format!("/ui/search?q={query}")).await;
            assert!(page.contains("Search syntax") && !page.contains("<b>"), "{query}: {page}");
        }
    });
}
