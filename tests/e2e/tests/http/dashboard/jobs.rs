//! The list of jobs, its forms, and the search.

use std::collections::BTreeMap;

use reqwest::Url;
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use tenure_e2e::{EventStream, Reply, Server, http_client, in_time, on_both_stores_with_setup, rows};

/// Runs a test on both stores with a client that does not follow redirects.
pub(crate) fn on_both_stores_without_redirects(test: impl AsyncFn(Server)) {
    let client = http_client().redirect(Policy::none()).build().unwrap();
    on_both_stores_with_setup(|setup| setup.client(client.clone()), test);
}

/// Requests a page like a browser.
pub(crate) async fn ask(server: &Server, path: &str) -> Reply {
    server.request("GET", path).header("accept", "text/html").send().await
}

/// The text of a successful page.
#[track_caller]
pub(crate) fn shown(reply: Reply) -> String {
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.text
}

/// Sends a form like a page of this server.
pub(crate) async fn send(server: &Server, path: &str, fields: &[(&str, &str)]) -> Reply {
    let form = Url::parse_with_params("http://form", fields).unwrap();
    let request = server.request("POST", path).header("origin", server.url()).header("accept", "text/html");
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    request.bytes(form.query().unwrap_or_default()).send().await
}

/// The message that the next page shows after a form.
#[track_caller]
pub(crate) fn said(reply: &Reply) -> String {
    assert_eq!(reply.status, 303, "{}", reply.text);
    let cookie = reply.header("set-cookie").expect("it says what was done");
    let value = cookie.strip_prefix("tenure_said=").and_then(|rest| rest.split(';').next()).unwrap();
    let url = Url::parse(&format!("http://said/?{value}")).unwrap();
    url.query_pairs().next().expect("a sentence").0.into_owned()
}

/// The path of a page's stream.
fn stream_of(page: &str) -> String {
    let address = page.split_once("data-stream=\"").and_then(|(_, rest)| rest.split_once('"'));
    address.expect("a page says where its stream is").0.replace("&amp;", "&")
}

/// An open page: its parts as they were last sent.
pub(crate) struct Look {
    stream: EventStream,
    parts: BTreeMap<String, Value>,
}

impl Look {
    pub(crate) async fn at(server: &Server, page: &str) -> Self {
        Self { stream: server.stream(&stream_of(page), None).await, parts: BTreeMap::new() }
    }

    /// Waits until a condition on a part holds.
    pub(crate) async fn until(&mut self, id: &str, is_wanted: impl Fn(&Value) -> bool) {
        while !self.parts.get(id).is_some_and(&is_wanted) {
            let received = in_time(id, self.stream.next()).await.expect("the stream continues");
            let news = received.data.as_array().expect("parts").iter();
            self.parts.extend(news.map(|part| (part[0].as_str().unwrap().to_owned(), part[1].clone())));
        }
    }
}

fn contains(text: &str) -> impl Fn(&Value) -> bool {
    move |part| part.as_str().is_some_and(|part| part.contains(text))
}

pub(crate) fn id(job: &Value) -> &str {
    job["id"].as_str().unwrap()
}

fn cell(letter: char, job: &Value) -> String {
    format!("{letter}-{}", id(job).replace('-', ""))
}

fn row_count(page: &str) -> usize {
    page.matches("name=\"job\"").count()
}

#[test]
fn an_empty_list_explains_why_and_suggests_a_next_step() {
    on_both_stores_without_redirects(async |server| {
        let page = shown(ask(&server, "/ui/jobs").await);
        assert!(page.contains("No jobs yet") && page.contains("tenure run TYPE"), "{page}");
        server.create(json!({ "type": "a" })).await;
        let page = shown(ask(&server, "/ui/jobs?lifecycle=distributed&state=succeeded").await);
        assert!(page.contains("No jobs: lifecycle distributed, state succeeded."), "{page}");
        let page = shown(ask(&server, "/ui/jobs?phase=ready&type=b").await);
        assert!(page.contains("No jobs match: phase ready, type b."), "{page}");
        assert!(page.contains("<a href=\"/ui/jobs?phase=ready\">Clear the filter</a>"), "{page}");
        let page = shown(ask(&server, "/ui/jobs?lifecycle=image").await);
        assert!(page.contains("No jobs of lifecycle image yet"), "{page}");
    });
}

#[test]
fn a_row_shows_the_state_and_the_error_of_a_job() {
    on_both_stores_without_redirects(async |server| {
        let hostile = "<script>alert(1)</script>";
        let job = server.create(json!({ "type": "a", "user_id": hostile, "max_attempts": 1 })).await;
        let claimed = server.claim_one().await;
        server
            .report(&claimed, "progress", json!({ "progress": 40, "message": "\"half\"" }))
            .await
            .expect(200);
        let error = json!({ "error": { "code": "E_<b>", "message": "first <i>line\nsecond line" } });
        server.report(&claimed, "fail", error).await.expect(200);
        let page = shown(ask(&server, "/ui/jobs").await);
        assert!(!page.contains(hostile) && page.contains("&lt;script&gt;alert(1)"), "{page}");
        assert!(page.contains("E_&lt;b&gt;") && page.contains("first &lt;i&gt;line"), "{page}");
        assert!(!page.contains("second line"), "one line is enough: {page}");
        assert!(page.contains(&format!("href=\"/ui/jobs/{}\"", id(&job))), "{page}");
        assert!(page.contains("40 %") && page.contains("w1") && page.contains(" of 1"), "{page}");
        assert_eq!(row_count(&page), 1);
        // With a lifecycle the tabs are its states in order; without one, the phases and outcomes.
        let page = shown(ask(&server, "/ui/jobs?lifecycle=distributed").await);
        let location = |state: &str| page.find(&format!("state={state}\"")).expect(state);
        assert!(
            location("queued") < location("assigned") && location("assigned") < location("running"),
            "{page}"
        );
        let page = shown(ask(&server, "/ui/jobs?outcome=dead").await);
        assert!(page.contains("href=\"/ui/jobs?phase=ready\"") && row_count(&page) == 1, "{page}");
        // Empty fields of the form are left out of the URL.
        let page = shown(ask(&server, "/ui/jobs?type=a&queue=&worker=w1&correlation_id=").await);
        assert!(
            page.contains("<a class=\"chip\" href=\"/ui/jobs?worker=w1\""),
            "type can be removed: {page}"
        );
        assert!(page.contains("<a class=\"chip\" href=\"/ui/jobs?type=a\""), "worker can be removed: {page}");
        assert!(page.contains("<details>") && row_count(&page) == 1, "{page}");
        let page = shown(ask(&server, "/ui/jobs?created_after=2020-01-01T00:00:00Z").await);
        assert!(page.contains("<details open>") && row_count(&page) == 1, "{page}");
        assert_eq!(ask(&server, "/ui/jobs?created_after=yesterday").await.status, 400);
        assert_eq!(ask(&server, "/ui/jobs?colour=red").await.status, 400);
    });
}

#[test]
fn older_jobs_are_on_the_next_page() {
    on_both_stores_without_redirects(async |server| {
        let jobs: Vec<Value> = (0..60).map(|_| json!({ "type": "a" })).collect();
        server.post("/api/jobs/batch", &json!({ "jobs": jobs })).await.expect(200);
        let page = shown(ask(&server, "/ui/jobs?type=a").await);
        assert_eq!(row_count(&page), 50);
        let (_, rest) = page.split_once("rel=\"next\" href=\"").expect("there are older ones");
        let older = rest.split('"').next().unwrap().replace("&amp;", "&");
        let page = shown(ask(&server, &older).await);
        assert_eq!(row_count(&page), 10, "{older}");
        assert!(
            page.contains("rel=\"prev\" href=\"/ui/jobs?type=a\"") && !page.contains("rel=\"next\""),
            "{page}"
        );
    });
}

#[test]
fn rows_keep_their_place_while_their_cells_change() {
    on_both_stores_without_redirects(async |server| {
        let first = server.create(json!({ "type": "a" })).await;
        let second = server.create(json!({ "type": "a" })).await;
        let all = shown(ask(&server, "/ui/jobs").await);
        let ready = shown(ask(&server, "/ui/jobs?lifecycle=distributed&state=queued").await);
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
        let page = shown(ask(&server, "/ui/jobs").await);
        assert!(page.contains(&cell('s', &third)), "the newest is on a new page: {page}");
        // An empty page receives the first job, too.
        let empty = shown(ask(&server, "/ui/jobs?type=b").await);
        let mut empty = Look::at(&server, &empty).await;
        server.create(json!({ "type": "b" })).await;
        empty.until("newer", contains("1 newer")).await;
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
        let foreign =
            foreign.header("content-type", "application/x-www-form-urlencoded").bytes("action=cancel");
        assert_eq!(foreign.send().await.status, 403);
    });
}

#[test]
fn a_bulk_action_shows_the_number_of_matches_first() {
    on_both_stores_without_redirects(async |server| {
        let jobs: Vec<Value> = (0..3).map(|_| json!({ "type": "a" })).collect();
        server.post("/api/jobs/batch", &json!({ "jobs": jobs })).await.expect(200);
        server.create(json!({ "type": "b" })).await;
        let page = shown(ask(&server, "/ui/jobs?phase=ready&type=a").await);
        let confirm = "/ui/jobs/actions?phase=ready&type=a&action=cancel";
        assert!(page.contains(&confirm.replace('&', "&amp;")), "{page}");
        assert!(!page.contains("Retry"), "nothing here is over: {page}");
        let page = shown(ask(&server, "/ui/jobs?type=a").await);
        assert!(page.contains("Choose a state first"), "{page}");
        let page = shown(ask(&server, confirm).await);
        assert!(page.contains("3 jobs") && page.contains("phase ready, type a"), "{page}");
        let fields = [("scope", "matching"), ("action", "cancel"), ("phase", "ready"), ("type", "a")];
        let reply = send(&server, "/ui/jobs/actions", &fields).await;
        assert_eq!(said(&reply), "Cancelled 3 of 3.");
        assert_eq!(reply.header("location"), Some("/ui/jobs?phase=ready&type=a"));
        let left = server.read("/api/jobs?phase=ready").await;
        assert_eq!(rows(&left["jobs"]).len(), 1, "{left}");
        let page = shown(ask(&server, "/ui/jobs?outcome=cancelled").await);
        assert!(page.contains("Retry") && !page.contains("Cancel selected"), "{page}");
    });
}

#[test]
fn producers_see_and_change_only_their_jobs() {
    on_both_stores_without_redirects(async |mut server| {
        server.use_admin_key().await;
        let mine = server.create(json!({ "type": "a", "user_id": "u1" })).await;
        let other = server.create(json!({ "type": "a", "user_id": "u2" })).await;
        let page = shown(ask(&server, "/ui/jobs").await);
        assert!(row_count(&page) == 2 && page.contains("id=\"n-ready\""), "{page}");

        let viewer = server.create_key("viewer", None).await;
        let producer = server.create_key("producer", Some("u1")).await;
        let worker = server.create_key("worker", None).await;
        server.use_key(Some(&viewer));
        let page = shown(ask(&server, "/ui/jobs?phase=ready").await);
        assert!(row_count(&page) == 2 && page.contains("the role viewer may not do this"), "{page}");
        assert!(!page.contains("/ui/jobs/actions?"), "{page}");
        let both = [("job", id(&mine)), ("job", id(&other)), ("action", "cancel"), ("back", "/ui/jobs")];
        assert_eq!(send(&server, "/ui/jobs/actions", &both).await.status, 403);
        assert_eq!(ask(&server, "/ui/jobs/actions?action=cancel&phase=ready").await.status, 403);

        server.use_key(Some(&producer));
        let page = shown(ask(&server, "/ui/jobs").await);
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
        assert_eq!(row_count(&shown(ask(&server, "/ui/jobs").await)), 0);
        let held = server.claim(json!({ "worker": "w9", "max": 1 })).await.remove(0);
        let page = shown(ask(&server, "/ui/jobs").await);
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
        let page = format!("/ui/jobs/{}", id(&job));
        assert_eq!(leads_to(id(&job)).await, page);
        assert_eq!(leads_to(&id(&job).replace('-', "").to_uppercase()).await, page);
        assert_eq!(leads_to(&id(&job)[..18]).await, page);
        assert_eq!(leads_to(" state:failed  user:a&b ").await, "/ui/jobs?state=failed&user_id=a%26b");
        server.create(json!({ "type": "b" })).await;
        let page = shown(ask(&server, &format!("/ui/search?q={}", &id(&job)[..6])).await);
        assert!(page.contains("2 jobs have ids that begin with"), "{page}");
        for query in ["", "hello", "colour%3Ared", "ffff", "%3Cb%3E"] {
            let page = shown(ask(&server, &format!("/ui/search?q={query}")).await);
            assert!(page.contains("Search syntax") && !page.contains("<b>"), "{query}: {page}");
        }
    });
}
