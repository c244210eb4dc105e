//! Coalesced creations of the SDK, on a real server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use serde_json::json;
use tenure_client::{Client, NewJob};
use tenure_e2e::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const CONFIG: &str = r#"
[types.picture]
lifecycle = "image"
schema = { type = "object", required = ["prompt"] }

[types.plain]
lifecycle = "distributed"
"#;

fn job(job_type: &str, n: usize) -> NewJob {
    NewJob::new(job_type, &json!({ "n": n })).unwrap()
}

/// A proxy that counts batches, and closes the connection instead of passing on the first answers to them.
struct Proxy {
    address: String,
    batches: Arc<AtomicUsize>,
}

impl Proxy {
    async fn start(server: &Server, lost: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (batches, to) = (Arc::new(AtomicUsize::new(0)), server.address().to_owned());
        let counter = Arc::clone(&batches);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&to).await.unwrap();
                tokio::spawn(relay(client, server, Arc::clone(&counter), lost));
            }
        });
        Self { address, batches }
    }

    fn client(&self) -> Client {
        Client::new(&format!("http://{}", self.address)).unwrap()
    }
}

async fn relay(mut client: TcpStream, mut server: TcpStream, batches: Arc<AtomicUsize>, lost: usize) {
    let (mut sent, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut is_lost = false;
    loop {
        tokio::select! {
            read = client.read(&mut sent) => {
                let Ok(count @ 1..) = read else { return };
                if sent[..count].starts_with(b"POST /api/jobs/batch ") {
                    is_lost = batches.fetch_add(1, Ordering::SeqCst) < lost;
                }
                if server.write_all(&sent[..count]).await.is_err() {
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(count @ 1..) = read else { return };
                if is_lost || client.write_all(&answered[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}

#[test]
fn concurrent_creations_each_get_their_own_job() {
    on_both_stores(async |server| {
        let proxy = Proxy::start(&server, 0).await;
        let client = proxy.client();
        let created = join_all((0..300).map(|n| client.create(job("a", n)))).await;
        let mut ids = BTreeSet::new();
        for (n, created) in created.into_iter().enumerate() {
            let created = created.unwrap();
            assert_eq!((&created.job.payload, created.replayed), (&json!({ "n": n }), false));
            ids.insert(created.job.id);
        }
        assert_eq!(ids.len(), 300);
        let batches = proxy.batches.load(Ordering::SeqCst);
        assert!((1..10).contains(&batches), "{batches}");
        let enqueued = join_all((0..20).map(|n| client.enqueue(job("b", n)))).await;
        for (n, enqueued) in enqueued.into_iter().enumerate() {
            let found = client.get(&enqueued.unwrap().id).await.unwrap();
            assert_eq!((found.job_type.as_str(), found.payload), ("b", json!({ "n": n })));
        }
    });
}

#[test]
fn a_refused_creation_does_not_affect_those_that_travel_with_it() {
    on_both_stores_with_config(CONFIG, async |server| {
        let client = Client::new(server.url()).unwrap();
        let deep = format!("{}1{}", "[".repeat(63), "]".repeat(63));
        let deep: serde_json::Value = serde_json::from_str(&deep).unwrap();
        let jobs = vec![
            (job("plain", 0), None),
            (job("undeclared", 1), Some("unknown_type")),
            (job("picture", 2), Some("validation_failed")),
            (job("plain", 3).priority(i32::MAX), Some("malformed")),
            (job("plain", 4).key("é"), Some("malformed")),
            (NewJob::new("plain", &"\0").unwrap(), Some("malformed")),
            (NewJob::new("plain", &deep).unwrap(), None),
            (job("plain", 7), None),
        ];
        let (jobs, expected): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
        let results = join_all(jobs.into_iter().map(|job| client.create(job))).await;
        let codes: Vec<_> =
            results.iter().map(|result| result.as_ref().err().and_then(|error| error.code())).collect();
        assert_eq!(codes, expected);
        assert_eq!(results[7].as_ref().unwrap().job.payload, json!({ "n": 7 }));
        assert_eq!(server.column("/api/jobs", "type").await.len(), 3);
    });
}

#[test]
fn concurrent_creations_with_one_key_create_one_job() {
    on_both_stores(async |server| {
        let client = Client::new(server.url()).unwrap();
        let existing = client.create(job("a", 0).key("before")).await.unwrap();
        let same = (0..50).map(|_| client.create(job("a", 1).key("same")));
        let (same, again, other) = tokio::join!(
            join_all(same),
            client.create(job("a", 0).key("before")),
            client.create(job("a", 2).key("before")),
        );
        let ids: BTreeSet<_> = same.iter().map(|created| &created.as_ref().unwrap().job.id).collect();
        assert_eq!(ids.len(), 1);
        assert_eq!(same.iter().filter(|created| !created.as_ref().unwrap().replayed).count(), 1);
        let again = again.unwrap();
        assert_eq!((again.job.id, again.replayed), (existing.job.id, true));
        assert_eq!(other.unwrap_err().code(), Some("idempotency_mismatch"));
        assert_eq!(server.column("/api/jobs", "type").await.len(), 2);
    });
}

#[test]
fn a_batch_whose_answer_is_lost_is_repeated_without_duplicates() {
    on_both_stores(async |server| {
        let proxy = Proxy::start(&server, 2).await;
        let client = proxy.client();
        let created = join_all((0..40).map(|n| client.create(job("a", n)))).await;
        for (n, created) in created.into_iter().enumerate() {
            assert_eq!(created.unwrap().job.payload, json!({ "n": n }));
        }
        assert!(proxy.batches.load(Ordering::SeqCst) >= 1);
        assert_eq!(server.column("/api/jobs?limit=500", "type").await.len(), 40);
    });
}

#[test]
fn a_batch_over_a_small_body_limit_is_sent_in_smaller_parts() {
    on_both_stores_with_config("[limits]\nbody = \"20 KiB\"\npayload = \"16 KiB\"\n", async |server| {
        let client = Client::new(server.url()).unwrap();
        let large = |n: usize| NewJob::new("a", &json!({ "n": n, "text": "x".repeat(3000) })).unwrap();
        for round in 0..2 {
            let created = join_all((0..20).map(|n| client.enqueue(large(n)))).await;
            assert!(created.iter().all(Result::is_ok), "{round}: {created:?}");
        }
        let huge = NewJob::new("a", &"x".repeat(30_000)).unwrap();
        let (huge, small) = tokio::join!(client.create(huge), client.create(job("a", 1)));
        assert_eq!(huge.unwrap_err().code(), Some("too_large"));
        small.unwrap();
        assert_eq!(server.column("/api/jobs?limit=500", "type").await.len(), 41);
    });
}
