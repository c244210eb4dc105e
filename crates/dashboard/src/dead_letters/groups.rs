//! Dead letters that have reason, stage and error code in common.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tenure_core::api_key::Role;
use tenure_core::dead_letter::{DeadLetter, ReasonCode};
use tenure_core::id::{JobId, Name};
use tenure_core::job::Stage;
use tenure_core::query::{DeadLetterFilter, Page as Rows};
use tenure_core::time::Timestamp;
use tenure_service::Service;
use tenure_service::bulk::PAGE_JOBS;
use tenure_service::caller::Caller;
use tenure_service::dead_letters::narrow;
use tenure_service::problem::Problem;
use tenure_service::query::QueryParams;
use tenure_store::Store as _;
use tokio::sync::Mutex;

use crate::jobs::filters::address;

/// Letters that are looked at for groups: the newest.
pub(crate) const LETTERS_MAX: usize = 5000;
/// Groups are not made again sooner than this many times what making them took.
const REST: u32 = 20;
/// Of what an example says, this much.
const SAYS_CHARS: usize = 100;

/// What letters died of.
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

    /// What an address or a form names: with a reason the kind without stage or code where none is named.
    pub(crate) fn read(params: &mut QueryParams) -> Result<Option<Self>, Problem> {
        params.drop_empty();
        let a_stage = |text: &str| serde_json::from_value::<Stage>(Value::from(text)).ok();
        let reason = params.read("reason_code", "a reason code", ReasonCode::parse)?;
        let stage = params.read("stage", "fetch, input, exec, output or commit", a_stage)?;
        let code = params.name("code")?;
        if reason.is_none() && (stage.is_some() || code.is_some()) {
            return Err(Problem::malformed("?reason_code", "must be named with a stage or a code"));
        }
        Ok(reason.map(|reason| Self { reason, stage, code }))
    }

    pub(crate) fn holds(&self, letter: &DeadLetter) -> bool {
        Self::of(letter) == *self
    }

    /// What a store can find of it.
    pub(crate) fn filter(&self) -> DeadLetterFilter {
        DeadLetterFilter { reason_code: Some(self.reason), stage: self.stage, ..DeadLetterFilter::default() }
    }

    pub(crate) fn stage_word(&self) -> Option<&'static str> {
        self.stage.map(|stage| match stage {
            Stage::Fetch => "fetch",
            Stage::Input => "input",
            Stage::Exec => "exec",
            Stage::Output => "output",
            Stage::Commit => "commit",
        })
    }

    /// The names and values that make the same again.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let (stage, code) = (self.stage_word(), self.code.as_deref());
        let stage = stage.map(|stage| ("stage", stage));
        [("reason_code", self.reason.as_str())]
            .into_iter()
            .chain(stage)
            .chain(code.map(|code| ("code", code)))
    }

    pub(crate) fn address(&self, page: &str, more: &[(&str, &str)]) -> String {
        address(page, self.pairs().chain(more.iter().copied()))
    }

    /// `timeout in exec: E_SLOW`.
    pub(crate) fn words(&self) -> String {
        let stage = self.stage_word().map(|stage| format!(" in {stage}")).unwrap_or_default();
        let code = self.code.as_ref().map(|code| format!(": {code}")).unwrap_or_default();
        format!("{}{stage}{code}", self.reason.as_str())
    }
}

/// Letters of one kind.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) kind: Kind,
    pub(crate) count: u64,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    /// The job of the last one, and what went wrong there.
    pub(crate) example: JobId,
    pub(crate) says: String,
}

/// All of them; the kind that began last comes first, so that a new kind is seen and no other changes its place.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    pub(crate) groups: Vec<Group>,
    /// Whether there are more letters than were looked at.
    pub(crate) is_more: bool,
}

impl Groups {
    pub(crate) fn letters(&self) -> u64 {
        self.groups.iter().map(|group| group.count).sum()
    }

    async fn read(service: &Service, mut filter: DeadLetterFilter, caller: &Caller) -> Result<Self, Problem> {
        narrow(caller, &mut filter)?;
        let mut kinds: BTreeMap<Kind, Group> = BTreeMap::new();
        let (mut before, mut looked_at) = (None, 0);
        let is_more = loop {
            let letters =
                service.store().dead_letters(filter.clone(), Rows { before, limit: PAGE_JOBS }).await?;
            if looked_at == LETTERS_MAX {
                break !letters.is_empty();
            }
            looked_at += letters.len();
            before = letters.last().map(|letter| letter.job_id);
            let is_last = letters.len() < PAGE_JOBS;
            for letter in letters {
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
        Self { kind, count: 0, first: at, last: at, example: letter.job_id, says: says(letter) }
    }

    fn add(&mut self, letter: &DeadLetter) {
        self.count += 1;
        self.first = self.first.min(letter.created_at);
        if letter.created_at > self.last {
            (self.last, self.example, self.says) = (letter.created_at, letter.job_id, says(letter));
        }
    }
}

fn says(letter: &DeadLetter) -> String {
    let message = letter.last_error.as_ref().map(|error| error.message.as_str()).unwrap_or_default();
    message.lines().next().unwrap_or_default().chars().take(SAYS_CHARS).collect()
}

/// The groups as they were a moment ago, for everyone who may see all of them.
#[derive(Default)]
pub(crate) struct Inbox(Mutex<Option<Kept>>);

struct Kept {
    groups: Arc<Groups>,
    made: Instant,
    rest: Duration,
}

impl Inbox {
    /// The groups that the caller may see.
    pub(crate) async fn groups(&self, service: &Service, caller: &Caller) -> Result<Arc<Groups>, Problem> {
        if caller.role == Role::Producer {
            return Groups::read(service, DeadLetterFilter::default(), caller).await.map(Arc::new);
        }
        let mut kept = self.0.lock().await;
        if let Some(kept) = kept.as_ref().filter(|kept| kept.made.elapsed() < kept.rest) {
            return Ok(Arc::clone(&kept.groups));
        }
        let began = Instant::now();
        let groups = Arc::new(Groups::read(service, DeadLetterFilter::default(), caller).await?);
        let rest = began.elapsed() * REST;
        *kept = Some(Kept { groups: Arc::clone(&groups), made: Instant::now(), rest });
        Ok(groups)
    }

    /// Has them made again: something was done about them.
    pub(crate) async fn forget(&self) {
        *self.0.lock().await = None;
    }
}
