//! Groups of errors: read from the store, and merged with what the statistics counted in the last hour.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tenure_core::id::{TypeName, UserId};
use tenure_core::lifecycle::Outcome;
use tenure_core::query::DeadLetterFilter;
use tenure_service::bulk::PAGE_JOBS;
use tenure_service::dead_letters::{narrow, visible};
use tenure_service::listing;
use tenure_stats::snapshot::ErrorNow;
use tokio::sync::Mutex;

use super::kind::ErrorKind;
use crate::prelude::*;

/// Failed jobs are looked for among this many jobs, the newest, and at most this many dead letters are read.
pub(crate) const SCAN_JOBS: usize = 10_000;
/// Groups are cached for this many times the duration of reading them.
const AGE_COSTS: u32 = 20;
/// Types whose groups are cached at a time.
const CACHED_TYPES_MAX: usize = 50;
const MESSAGE_CHARS: usize = 160;

#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) kind: ErrorKind,
    /// Failed jobs, and jobs with open dead letters.
    pub(crate) failed_jobs: Vec<JobId>,
    pub(crate) letters: Vec<JobId>,
    /// Failed attempts of the last hour, those that were retried, and how many in each minute.
    pub(crate) attempts: u64,
    pub(crate) retried: u64,
    pub(crate) minutes: Vec<u64>,
    pub(crate) types: BTreeSet<TypeName>,
    /// At most [`ErrorNow::USERS_MAX`].
    pub(crate) users: BTreeSet<UserId>,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    /// Job and error message of the last one.
    pub(crate) example: JobId,
    pub(crate) message: String,
}

/// What the store has.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    groups: BTreeMap<ErrorKind, Group>,
    /// Whether there are older jobs or more dead letters than were read.
    pub(crate) is_more: bool,
}

impl Group {
    fn new(kind: ErrorKind, at: Timestamp, example: JobId, message: &str) -> Self {
        Self {
            kind,
            failed_jobs: Vec::new(),
            letters: Vec::new(),
            attempts: 0,
            retried: 0,
            minutes: Vec::new(),
            types: BTreeSet::new(),
            users: BTreeSet::new(),
            first: at,
            last: at,
            example,
            message: first_line(message),
        }
    }

    fn saw(&mut self, at: Timestamp, example: JobId, message: &str) {
        self.first = self.first.min(at);
        if at > self.last {
            (self.last, self.example, self.message) = (at, example, first_line(message));
        }
    }

    fn add_users<'a>(&mut self, users: impl IntoIterator<Item = &'a UserId>) {
        for user in users {
            if self.users.len() < ErrorNow::USERS_MAX {
                self.users.insert(user.clone());
            }
        }
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failed_jobs.len() as u64
    }

    pub(crate) fn dead(&self) -> u64 {
        self.letters.len() as u64
    }

    /// Jobs that failed for good, and attempts that may have been repeated.
    fn size(&self) -> u64 {
        self.failed() + self.dead() + self.retried
    }
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().chars().take(MESSAGE_CHARS).collect()
}

impl Groups {
    fn at(&mut self, kind: ErrorKind, at: Timestamp, job: JobId, message: &str) -> &mut Group {
        let group = self.groups.entry(kind.clone()).or_insert_with(|| Group::new(kind, at, job, message));
        group.saw(at, job, message);
        group
    }

    /// Stored and counted errors in one list, the biggest group first.
    pub(crate) fn merge(stored: &Self, recent: &[ErrorNow]) -> Vec<Group> {
        let mut all = Self { groups: stored.groups.clone(), is_more: stored.is_more };
        for error in recent {
            let group = all.at(ErrorKind::of_recent(error), error.first_at, error.job_id, &error.message);
            group.saw(error.last_at, error.job_id, &error.message);
            (group.attempts, group.retried) = (error.count, error.retried);
            group.minutes.clone_from(&error.minutes);
            group.types.extend(error.types.iter().cloned());
            group.add_users(&error.users);
        }
        let mut groups: Vec<Group> = all.groups.into_values().collect();
        groups.sort_by(|a, b| b.size().cmp(&a.size()).then(b.last.cmp(&a.last)));
        groups
    }

    /// The groups that `kind` includes.
    pub(crate) fn included<'a>(&'a self, kind: &'a ErrorKind) -> impl Iterator<Item = &'a Group> {
        self.groups.iter().filter(|(of_group, _)| kind.includes(of_group)).map(|(_, group)| group)
    }

    /// Reads the errors of one type or of all.
    pub(crate) async fn read(
        service: &Service,
        caller: &Caller,
        job_type: Option<&TypeName>,
    ) -> Result<Self> {
        let mut groups = Self::default();
        let failed = failed_jobs(service, caller, Outcome::Failed, job_type).await?;
        let dead = failed_jobs(service, caller, Outcome::Dead, job_type).await?;
        let letters = open_letters(service, caller, job_type).await?;
        for job in &failed.rows {
            let message = job.output.error.as_ref().map_or("", |error| error.message.as_str());
            let at = job.times.completed_at.unwrap_or(job.times.updated_at);
            let group = groups.at(ErrorKind::of_job(job), at, job.id(), message);
            group.failed_jobs.push(job.id());
            group.types.insert(job.spec.job_type.clone());
            group.add_users(&job.spec.user_id);
        }
        let dead_jobs: BTreeMap<JobId, &Arc<Job>> = dead.rows.iter().map(|job| (job.id(), job)).collect();
        for letter in &letters.rows {
            let message = letter.last_error.as_ref().map_or("", |error| error.message.as_str());
            let group = groups.at(ErrorKind::of_letter(letter), letter.created_at, letter.job_id, message);
            group.letters.push(letter.job_id);
            group.types.extend(job_type.cloned());
            if let Some(job) = dead_jobs.get(&letter.job_id) {
                group.types.insert(job.spec.job_type.clone());
                group.add_users(&job.spec.user_id);
            }
        }
        groups.is_more = failed.is_more || letters.is_more;
        Ok(groups)
    }
}

/// Rows that were found, and whether there may be more.
struct Found<T> {
    rows: Vec<T>,
    is_more: bool,
}

/// Jobs with an outcome that the caller may see, of one type or of all, among the newest [`SCAN_JOBS`] jobs. The newest first.
async fn failed_jobs(
    service: &Service,
    caller: &Caller,
    outcome: Outcome,
    job_type: Option<&TypeName>,
) -> Result<Found<Arc<Job>>> {
    let from = service.store().nth_older(None, SCAN_JOBS).await?;
    let (outcome, job_type) = (Some(outcome), job_type.cloned());
    let mut filter = JobFilter { outcome, job_type, from, ..JobFilter::default() };
    caller.narrow(&mut filter)?;
    let (mut rows, mut before) = (Vec::new(), None);
    loop {
        let page = Rows { before, limit: PAGE_JOBS };
        let (found, next) = listing::list(service, caller, filter.clone(), page).await?;
        rows.extend(found);
        before = next;
        if before.is_none() {
            return Ok(Found { rows, is_more: from.is_some() });
        }
    }
}

/// Open dead letters that the caller may see, of one type or of all, at most [`SCAN_JOBS`]. The newest job first.
async fn open_letters(
    service: &Service,
    caller: &Caller,
    job_type: Option<&TypeName>,
) -> Result<Found<DeadLetter>> {
    let mut filter = DeadLetterFilter::default();
    filter.jobs.job_type = job_type.cloned();
    narrow(caller, &mut filter)?;
    let (mut rows, mut before, mut looked_at) = (Vec::new(), None, 0);
    loop {
        let page =
            service.store().dead_letters_page(filter.clone(), Rows { before, limit: PAGE_JOBS }).await?;
        looked_at += page.rows.len();
        before = page.rows.last().map(|letter| letter.job_id).or(before);
        rows.extend(visible(service, caller, page.rows).await?);
        if !page.has_more || looked_at >= SCAN_JOBS {
            return Ok(Found { rows, is_more: page.has_more });
        }
    }
}

/// Cache of the groups of each type and of all, for callers who may see all of them.
#[derive(Default)]
pub(crate) struct GroupCache(Mutex<BTreeMap<Option<TypeName>, CachedGroups>>);

struct CachedGroups {
    groups: Arc<Groups>,
    read_at: Instant,
    max_age: Duration,
}

impl GroupCache {
    pub(crate) async fn groups(
        &self,
        service: &Service,
        caller: &Caller,
        job_type: Option<&TypeName>,
    ) -> Result<Arc<Groups>> {
        if !caller.is(Right::ReadSystem) {
            return Groups::read(service, caller, job_type).await.map(Arc::new);
        }
        let key = job_type.cloned();
        let mut cached = self.0.lock().await;
        if let Some(known) = cached.get(&key).filter(|known| known.read_at.elapsed() < known.max_age) {
            return Ok(Arc::clone(&known.groups));
        }
        let began = Instant::now();
        let groups = Arc::new(Groups::read(service, caller, job_type).await?);
        let max_age = began.elapsed() * AGE_COSTS;
        cached.retain(|_, known| known.read_at.elapsed() < known.max_age);
        if cached.len() < CACHED_TYPES_MAX {
            cached
                .insert(key, CachedGroups { groups: Arc::clone(&groups), read_at: Instant::now(), max_age });
        }
        Ok(groups)
    }

    pub(crate) async fn invalidate(&self) {
        self.0.lock().await.clear();
    }
}
