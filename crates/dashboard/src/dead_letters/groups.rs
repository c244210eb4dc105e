//! Dead letters that have reason, stage and error code in common.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tenure_core::dead_letter::ReasonCode;
use tenure_core::id::Name;
use tenure_core::job::Stage;
use tenure_core::query::DeadLetterFilter;
use tenure_service::bulk::PAGE_JOBS;
use tenure_service::dead_letters::{narrow, visible};
use tokio::sync::Mutex;

use crate::jobs::filters::address;
use crate::prelude::*;

/// Dead letters that are read for groups: the newest.
pub(crate) const LETTERS_MAX: usize = 5000;
/// Groups are cached for this many times the duration of reading them.
const AGE_COSTS: u32 = 20;
const MESSAGE_CHARS: usize = 100;

/// The common cause of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(crate) reason: ReasonCode,
    pub(crate) stage: Option<Stage>,
    pub(crate) code: Option<Name>,
}

impl Kind {
    fn of(letter: &DeadLetter) -> Self {
        let code = letter.last_error.as_ref().map(|error| error.code.clone());
        Self { reason: letter.reason_code, stage: letter.stage, code }
    }

    /// Reads a kind from a query or form. Without stage or code it is the kind that has none.
    pub(crate) fn read(params: &mut QueryParams) -> Result<Option<Self>> {
        params.drop_empty();
        let (reason, stage, code) = (params.reason_code()?, params.stage()?, params.name("code")?);
        if reason.is_none() && (stage.is_some() || code.is_some()) {
            return Err(Problem::malformed("?reason_code", "is required with a stage or a code"));
        }
        Ok(reason.map(|reason| Self { reason, stage, code }))
    }

    pub(crate) fn holds(&self, letter: &DeadLetter) -> bool {
        Self::of(letter) == *self
    }

    /// The part of it that a store can filter by.
    pub(crate) fn filter(&self) -> DeadLetterFilter {
        DeadLetterFilter { reason_code: Some(self.reason), stage: self.stage, ..DeadLetterFilter::default() }
    }

    pub(crate) fn stage_name(&self) -> Option<&'static str> {
        self.stage.map(Stage::as_str)
    }

    /// Names and values, for an address or a form.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let stage = self.stage_name().map(|stage| ("stage", stage));
        let code = self.code.as_deref().map(|code| ("code", code));
        [("reason_code", self.reason.as_str())].into_iter().chain(stage).chain(code)
    }

    pub(crate) fn address(&self, page: &str, more: &[(&str, &str)]) -> String {
        address(page, self.pairs().chain(more.iter().copied()))
    }

    /// `timeout in exec: E_SLOW`.
    pub(crate) fn words(&self) -> String {
        let stage = self.stage_name().map(|stage| format!(" in {stage}")).unwrap_or_default();
        let code = self.code.as_ref().map(|code| format!(": {code}")).unwrap_or_default();
        format!("{}{stage}{code}", self.reason.as_str())
    }
}

#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) kind: Kind,
    pub(crate) count: u64,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    /// Job and error message of the last one.
    pub(crate) example: JobId,
    pub(crate) message: String,
}

/// All groups, the newest first, so that a new group is noticed and the others keep their order.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    pub(crate) groups: Vec<Group>,
    /// Whether there are more dead letters than were read.
    pub(crate) is_more: bool,
}

impl Groups {
    pub(crate) fn letters(&self) -> u64 {
        self.groups.iter().map(|group| group.count).sum()
    }

    async fn read(service: &Service, mut filter: DeadLetterFilter, caller: &Caller) -> Result<Self> {
        narrow(caller, &mut filter)?;
        let mut kinds: BTreeMap<Kind, Group> = BTreeMap::new();
        let (mut before, mut looked_at) = (None, 0);
        let is_more = loop {
            // At least one, to find out whether there are more.
            let limit = PAGE_JOBS.min(LETTERS_MAX - looked_at).max(1);
            let page = service.store().dead_letters_page(filter.clone(), Rows { before, limit }).await?;
            let (letters, is_last) = (page.rows, !page.has_more);
            if looked_at == LETTERS_MAX {
                break !letters.is_empty();
            }
            looked_at += letters.len();
            before = letters.last().map(|letter| letter.job_id).or(before);
            for letter in visible(service, caller, letters).await? {
                let kind = Kind::of(&letter);
                kinds.entry(kind.clone()).or_insert_with(|| Group::new(kind, &letter)).add(&letter);
            }
            if is_last {
                break false;
            }
        };
        let mut groups: Vec<Group> = kinds.into_values().collect();
        groups.sort_by(|a, b| b.first.cmp(&a.first).then_with(|| a.kind.cmp(&b.kind)));
        Ok(Self { groups, is_more })
    }
}

impl Group {
    fn new(kind: Kind, letter: &DeadLetter) -> Self {
        let at = letter.created_at;
        Self { kind, count: 0, first: at, last: at, example: letter.job_id, message: message_of(letter) }
    }

    fn add(&mut self, letter: &DeadLetter) {
        self.count += 1;
        self.first = self.first.min(letter.created_at);
        if letter.created_at > self.last {
            (self.last, self.example, self.message) = (letter.created_at, letter.job_id, message_of(letter));
        }
    }
}

fn message_of(letter: &DeadLetter) -> String {
    let message = letter.last_error.as_ref().map(|error| error.message.as_str()).unwrap_or_default();
    message.lines().next().unwrap_or_default().chars().take(MESSAGE_CHARS).collect()
}

/// Cache of the groups, for callers who may see all of them.
#[derive(Default)]
pub(crate) struct GroupCache(Mutex<Option<CachedGroups>>);

struct CachedGroups {
    groups: Arc<Groups>,
    read_at: Instant,
    max_age: Duration,
}

impl GroupCache {
    pub(crate) async fn groups(&self, service: &Service, caller: &Caller) -> Result<Arc<Groups>> {
        if !caller.is(Right::ReadSystem) {
            return Groups::read(service, DeadLetterFilter::default(), caller).await.map(Arc::new);
        }
        let mut cached = self.0.lock().await;
        if let Some(cached) = cached.as_ref().filter(|cached| cached.read_at.elapsed() < cached.max_age) {
            return Ok(Arc::clone(&cached.groups));
        }
        let began = Instant::now();
        let groups = Arc::new(Groups::read(service, DeadLetterFilter::default(), caller).await?);
        let max_age = began.elapsed() * AGE_COSTS;
        *cached = Some(CachedGroups { groups: Arc::clone(&groups), read_at: Instant::now(), max_age });
        Ok(groups)
    }

    pub(crate) async fn invalidate(&self) {
        *self.0.lock().await = None;
    }
}
