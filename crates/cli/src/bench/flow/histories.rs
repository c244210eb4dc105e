//! What the histories of jobs say: limits, tokens, shares and debounced creations are judged by the events alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::json;
use tenure_core::event::Event;
use tenure_core::id::{Position, UserId, WorkerId};
use tenure_core::job::Job;
use tenure_core::lifecycle::Trigger;
use tenure_core::query::{JobFilter, Page};
use tenure_runtime::{NewJob, Runtime};
use tenure_store::JournalEntry;
use tokio::task::JoinSet;

use super::report::{Debounce, HotKey, OtherTenant, Shares, Tokens};
use super::{BURST, CLAIMERS, DELAY, RUNNING, TOKENS, WEIGHT, claim, fill, job, succeed, with_payload};
use crate::args::StoreKind;

/// Workers of one node.
const WORKERS: usize = 12;
/// How long the worker of a hot job works.
const WORK: Duration = Duration::from_millis(2);
/// And of a tenant's job: much longer than a claim takes, so that as many jobs run as there are workers. With two at once each tenant has one,
/// whatever its weight.
const TENANT_WORK: Duration = Duration::from_millis(30);
const PAGE: usize = 5000;

/// All events of a type, in order.
async fn events(node: &Runtime, job_type: &str) -> Result<Vec<JournalEntry>> {
    let (mut found, mut position) = (Vec::new(), Position(0));
    loop {
        let page = node.store().events(position, PAGE).await?;
        let Some(last) = page.last() else { return Ok(found) };
        position = last.position;
        found.extend(page.into_iter().filter(|entry| entry.job_type.as_str() == job_type));
    }
}

/// Workers claim and finish jobs of a type until `count` are claimed; each works on a job for some time.
async fn work(
    nodes: &[Runtime],
    each: usize,
    job_type: &'static str,
    count: usize,
    span: Duration,
) -> Result<()> {
    let (claimed, mut tasks) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
    for (number, node) in nodes.iter().cloned().enumerate() {
        for worker in 0..each {
            let (node, claimed) = (node.clone(), Arc::clone(&claimed));
            let worker = WorkerId::from(format!("w{number}-{worker}"));
            tasks.spawn(async move {
                while claimed.load(Ordering::Relaxed) < count {
                    let Some(job) = claim(&node, &worker, job_type, Duration::from_secs(1)).await? else {
                        continue;
                    };
                    claimed.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(span).await;
                    succeed(&node, &worker, &job).await?;
                }
                anyhow::Ok(())
            });
        }
    }
    tasks.join_all().await.into_iter().collect()
}

fn is_claim(event: &Event) -> bool {
    event.trigger == Trigger::Claim
}

pub(super) async fn hot_key(nodes: &[Runtime], jobs: usize) -> Result<HotKey> {
    fill(&nodes[0], jobs, |_| job("hot", 0)).await?;
    let start = Instant::now();
    work(nodes, CLAIMERS, "hot", jobs, WORK).await?;
    let jobs_per_second = jobs as f64 / start.elapsed().as_secs_f64();
    let (mut running, mut most, mut claims, mut longest, mut since) = (0_u64, 0, 0, 0, None);
    for JournalEntry { event, .. } in events(&nodes[0], "hot").await? {
        if is_claim(&event) {
            (running, claims) = (running + 1, claims + 1);
        } else if event.facts.lease_end.is_some() {
            running -= 1;
        }
        most = most.max(running);
        // The time before the first leases is not a gap, nor that after the last claim.
        let is_gap = running < RUNNING && claims >= RUNNING as usize && claims < jobs;
        match since {
            Some(began) if !is_gap => {
                longest = longest.max(event.ts.0 - began);
                since = None;
            }
            None if is_gap => since = Some(event.ts.0),
            _ => {}
        }
    }
    Ok(HotKey {
        jobs,
        nodes: nodes.len(),
        claimers_each: CLAIMERS,
        limit: RUNNING,
        most_at_once: most,
        longest_gap_ms: longest,
        jobs_per_second,
    })
}

/// Waiting claims take tokens as they arrive. The earliest time of each follows from those before.
pub(super) async fn tokens(node: &Runtime, store: StoreKind, jobs: usize) -> Result<Tokens> {
    let grants = (jobs / 20).max(60);
    fill(node, grants, |_| job("paced", 0)).await?;
    work(std::slice::from_ref(node), WORKERS, "paced", grants, Duration::ZERO).await?;
    let entries = events(node, "paced").await?;
    let times: Vec<i64> =
        entries.iter().filter(|entry| is_claim(&entry.event)).map(|entry| entry.event.ts.0).collect();
    let span = |tokens: usize| (tokens * 1000).div_ceil(TOKENS as usize) as i64;
    let (mut late, mut unlawful) = (Vec::new(), 0);
    for (last, at) in times.iter().enumerate() {
        let windows = || (0..last).rev().filter(move |first| last - first >= BURST);
        unlawful += windows().filter(|first| at - times[*first] < span(last - first + 1 - BURST)).count();
        // The first time at which every window allows one more.
        let earliest = windows().map(|first| times[first] + span(last - first + 1 - BURST)).max();
        // A token that was there at the grant before was not waited for.
        let waited = earliest.filter(|earliest| times[last - 1] < *earliest);
        late.extend(waited.map(|earliest| at - earliest));
    }
    late.sort_unstable();
    let percentile = late.len().saturating_sub(1) * 99 / 100;
    Ok(Tokens {
        store,
        grants: times.len(),
        unlawful,
        late_p99_ms: late.get(percentile).copied().unwrap_or_default(),
        late_worst_ms: late.last().copied().unwrap_or_default(),
    })
}

fn of_tenant(user: &str, number: usize) -> NewJob {
    NewJob { user_id: Some(user.into()), ..job("tenant", number) }
}

async fn user_of(node: &Runtime, entry: &JournalEntry) -> Result<Option<UserId>> {
    let job = node.store().job(entry.event.job_id).await?.context("the job exists")?;
    Ok(job.spec.user_id.clone())
}

/// Two tenants with more jobs than are claimed.
pub(super) async fn shares(node: &Runtime, jobs: usize) -> Result<Shares> {
    fill(node, jobs, |n| of_tenant("big", n)).await?;
    fill(node, jobs, |n| of_tenant("small", n)).await?;
    work(std::slice::from_ref(node), WORKERS, "tenant", jobs, TENANT_WORK).await?;
    let (mut big, mut claims) = (0, 0);
    let entries = events(node, "tenant").await?;
    for entry in entries.iter().filter(|entry| is_claim(&entry.event)).take(jobs) {
        claims += 1;
        big += usize::from(user_of(node, entry).await?.as_deref() == Some("big"));
    }
    let ratio = big as f64 / (claims - big).max(1) as f64;
    Ok(Shares { claims, weights: WEIGHT as f64, ratio })
}

/// One tenant has many waiting jobs and all workers; another one creates its first job.
pub(super) async fn other_tenant(node: &Runtime, waiting: usize) -> Result<OtherTenant> {
    fill(node, waiting, |n| of_tenant("big", n)).await?;
    let worker = |n: usize| WorkerId::from(format!("w{n}"));
    let mut held: Vec<Arc<Job>> = Vec::new();
    for number in 0..WORKERS {
        held.extend(claim(node, &worker(number), "tenant", Duration::from_secs(5)).await?);
    }
    fill(node, 1, |n| of_tenant("small", n)).await?;
    let ended = held.first().context("there was no job to claim")?;
    succeed(node, &worker(0), ended).await?;
    let next = claim(node, &worker(0), "tenant", Duration::from_secs(5)).await?.context("no job")?;
    let end = node.store().job(ended.id()).await?.context("the job exists")?.times.updated_at;
    let claimed = next.times.claimed_at.context("it is claimed")?;
    let is_next = next.spec.user_id.as_deref() == Some("small");
    Ok(OtherTenant { waiting, is_next, start_ms: claimed.0 - end.0 })
}

/// Concurrent creations with one key, on all nodes in turn.
pub(super) async fn debounce(nodes: &[Runtime], calls: usize) -> Result<Debounce> {
    let (called, mut tasks) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
    for caller in 0..CLAIMERS {
        let (node, called) = (nodes[caller % nodes.len()].clone(), Arc::clone(&called));
        tasks.spawn(async move {
            loop {
                let number = called.fetch_add(1, Ordering::Relaxed);
                if number >= calls {
                    return anyhow::Ok(());
                }
                let payload = json!({ "key": "one", "number": number });
                fill(&node, 1, |_| with_payload("debounced", &payload)).await?;
            }
        });
    }
    tasks.join_all().await.into_iter().collect::<Result<()>>()?;
    let wait = Duration::from_millis(DELAY.0 * 2);
    let worker = WorkerId::from("w");
    let mut runs = 0;
    while let Some(job) = claim(&nodes[0], &worker, "debounced", wait).await? {
        succeed(&nodes[0], &worker, &job).await?;
        runs += 1;
    }
    let filter = JobFilter { job_type: Some("debounced".into()), ..JobFilter::default() };
    let jobs = nodes[0].store().list(filter, Page { before: None, limit: 10 }).await?;
    let entries = events(&nodes[0], "debounced").await?;
    let before = entries.iter().take_while(|entry| !is_claim(&entry.event));
    let last = before.clone().filter_map(|entry| entry.event.facts.payload.as_ref()).last();
    let ran = jobs.first().map(|job| job.payload());
    Ok(Debounce {
        calls,
        jobs: jobs.len(),
        runs,
        events: before.count(),
        has_last_payload: ran.is_some() && (last.is_none() || ran == last),
    })
}
