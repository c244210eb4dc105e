//! The table of calls: method, path, required right, parameters, body, answers and problems of each. The router of the
//! server and the description of the API are built from it, so neither can have a call that the other lacks.

/// Declares calls with a tag. A row has method, path, id, rights and summary, and the fields of [`Call`] that are not empty.
macro_rules! calls {
    ($Tag:ident: $(
        $Method:ident $path:literal $Id:ident $($right:ident)|+ $summary:literal
        { $($field:ident: $value:expr),* $(, ..$base:expr)? $(,)? }
    )+) => {$(
        #[allow(non_upper_case_globals, reason = "it has the name of its `CallId`")]
        pub(super) const $Id: super::Call = super::Call {
            method: super::Method::$Method,
            path: $path,
            access: access!($($right)|+),
            tag: super::Tag::$Tag,
            summary: $summary,
            $($field: $value,)*
            ..base!($Method $($base)?)
        };
    )+};
}

macro_rules! access {
    (Public) => {
        super::Access::Public
    };
    ($right:ident) => {
        super::Access::Right(crate::Right::$right)
    };
    ($one:ident | $other:ident) => {
        super::Access::Either(crate::Right::$one, crate::Right::$other)
    };
}

macro_rules! base {
    ($Method:ident) => {
        super::Call::new(super::Method::$Method)
    };
    ($Method:ident $base:expr) => {
        $base
    };
}

mod automations;
mod jobs;
mod operators;
mod server;
pub(crate) mod shared;
mod workers;

use crate::problem::ProblemCode;
use crate::right::Right;
use crate::schema::{Object, Schema};

/// An HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Changes something.
    Post,
    /// Replaces something.
    Put,
    /// Changes members of something.
    Patch,
    /// Removes something.
    Delete,
}

impl Method {
    /// In a request line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// Which callers a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everyone, without credentials.
    Public,
    /// Callers with this right.
    Right(Right),
    /// Callers with one of these rights; which one depends on the request, and the handler checks it.
    Either(Right, Right),
}

impl Access {
    /// Whether a caller passes that has the rights for which `has` is true.
    pub fn allows(self, has: impl Fn(Right) -> bool) -> bool {
        match self {
            Self::Public => true,
            Self::Right(right) => has(right),
            Self::Either(one, other) => has(one) || has(other),
        }
    }
}

macro_rules! tags {
    ($($Tag:ident $name:literal $about:literal),+ $(,)?) => {
        /// A group of calls in the description.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Tag {
            $(#[doc = $about] $Tag),+
        }

        impl Tag {
            /// Every tag, in the order of the description.
            pub const ALL: &'static [Self] = &[$(Self::$Tag),+];

            /// Its name and its description.
            pub const fn about(self) -> (&'static str, &'static str) {
                match self { $(Self::$Tag => ($name, $about)),+ }
            }
        }
    };
}

tags! {
    Jobs "Jobs" "Create, read, cancel and follow jobs.",
    Workers "Workers" "Claim jobs and report on them, under a lease.",
    DeadLetters "Dead letters" "Jobs that were given up: list, redrive, dismiss.",
    Queues "Queues" "Pause and resume queues.",
    Resources "Resources and sequences" "Flow control: limits that jobs share, and jobs that run in order.",
    Catalog "Lifecycles and types" "Definitions: what can happen to a job, and the kinds of jobs.",
    Accounts "Accounts" "Credits and their ledger.",
    Users "Users" "Erase the data of a user.",
    Events "Events" "All events, in commit order.",
    Operations "Operations" "Statistics and the audit log.",
    Schedules "Schedules" "Jobs that are created at calendar times.",
    Webhooks "Webhooks" "Events, sent to a URL.",
    Keys "Keys" "API keys.",
    Service "Service" "Health, metrics, and this description.",
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Path,
    Query,
    Header,
}

/// A parameter of a call.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub place: Place,
    pub about: &'static str,
    pub schema: Schema,
    /// An example, as JSON text; may be empty.
    pub example: &'static str,
}

/// The body that a call takes.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// None.
    None,
    /// JSON of this type, with an example as JSON text.
    Json(Schema, &'static str),
    /// JSON of this type, or nothing, with an example as JSON text.
    OptionalJson(Schema, &'static str),
    /// Nothing, or an empty object.
    Empty,
    /// JSON of this type, with an example as JSON text, or any content.
    JsonOrContent(Schema, &'static str),
}

/// An answer with a status below 400.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    pub status: u16,
    pub about: &'static str,
    pub headers: &'static [Header],
    /// The schema of its body as JSON.
    pub json: Option<Schema>,
    /// Other media types of its body, and their schemas.
    pub other_content: &'static [(&'static str, Schema)],
    /// An example, as JSON text; may be empty.
    pub example: &'static str,
}

/// A header of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    pub name: &'static str,
    pub about: &'static str,
    /// Whether every such answer has it.
    pub required: bool,
    pub schema: Schema,
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub method: Method,
    /// Its path, with names in braces.
    pub path: &'static str,
    /// Which callers it is for.
    pub access: Access,
    pub tag: Tag,
    /// A few words.
    pub summary: &'static str,
    /// Further sentences; may be empty.
    pub about: &'static str,
    /// Parameters of path, query and header. `Idempotency-Key` goes with every call that takes a body.
    pub parameters: &'static [Parameter],
    /// Types whose fields are parameters of the query.
    pub filter: Option<&'static Object>,
    pub body: Body,
    pub answers: &'static [Answer],
    /// Problem codes of this call, besides those that follow from its access and its body.
    pub problems: &'static [ProblemCode],
}

impl Call {
    /// A call with nothing but its method.
    const fn new(method: Method) -> Self {
        Self {
            method,
            path: "",
            access: Access::Public,
            tag: Tag::Service,
            summary: "",
            about: "",
            parameters: &[],
            filter: None,
            body: if matches!(method, Method::Post) { Body::Empty } else { Body::None },
            answers: &[],
            problems: &[],
        }
    }

    /// The path with these values in place of the names in braces, each percent-encoded.
    pub fn path_of(&self, values: &[&str]) -> String {
        let mut values = values.iter();
        let segment = |part: &str| {
            if part.starts_with('{') {
                escape(values.next().expect("a value for each name of the path"))
            } else {
                part.to_owned()
            }
        };
        self.path.split('/').map(segment).collect::<Vec<_>>().join("/")
    }

    /// The name under which a page of this list has its rows.
    pub fn rows(&self) -> Option<&'static str> {
        self.answers.iter().find_map(|answer| match answer.json {
            Some(Schema::Page(rows, ..)) => Some(rows),
            _ => None,
        })
    }

    /// Whether it has query parameters.
    pub fn has_query(&self) -> bool {
        self.filter.is_some() || self.parameters.iter().any(|parameter| parameter.place == Place::Query)
    }

    /// Every problem code that the call can answer with.
    pub fn problem_codes(&self) -> Vec<ProblemCode> {
        use ProblemCode::{
            Forbidden, HeadersTooLarge, IdempotencyMismatch, Internal, Malformed, Misdirected, Overloaded,
            RateLimited, StoreUnavailable, TooLarge, Unauthenticated, UnsupportedMediaType,
        };
        let mut codes = vec![Forbidden, Misdirected, HeadersTooLarge];
        if self.access != Access::Public {
            codes.extend([Malformed, Unauthenticated, RateLimited, Internal, Overloaded, StoreUnavailable]);
        }
        if !matches!(self.body, Body::None) {
            codes.extend([TooLarge, UnsupportedMediaType, IdempotencyMismatch]);
        }
        codes.extend(self.problems);
        codes
    }
}

/// Percent-encodes a text as one segment of a path or one value of a query.
pub fn escape(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::with_capacity(text.len()), |mut written, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            written.push(char::from(byte));
        } else {
            write!(written, "%{byte:02X}").expect("writing to a string does not fail");
        }
        written
    })
}

macro_rules! call_ids {
    ($($module:ident { $($Id:ident)+ })+) => {
        /// Every call of the API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum CallId {
            $($($Id,)+)+
        }

        impl CallId {
            /// Every call, in the order of the description.
            pub const ALL: &'static [Self] = &[$($(Self::$Id,)+)+];

            /// Its entry in the table.
            pub const fn call(self) -> &'static Call {
                match self {
                    $($(Self::$Id => &$module::$Id,)+)+
                }
            }
        }
    };
}

call_ids! {
    jobs {
        CreateJob ListJobs CreateJobs ActOnJobs GetJob AmendJob DeleteJob ListJobEvents ReplayJob ExplainJob StreamJob CreateStreamToken
        ListJobLogs AppendJobLogs ListJobAssets AddJobAsset GetJobAsset GetJobAssetContent CancelJob
        RetryJob DeadLetterJob SignalJob
    }
    workers {
        ClaimJobs StartJob HeartbeatJob ReportProgress SucceedJob PartialJob FailJob RejectJob
        ReleaseJob ConfirmCancel ReportJobs ListWorkers
    }
    operators {
        ListDeadLetters RedriveDeadLetters DismissDeadLetter ListQueues PauseQueue ResumeQueue
        ListResources GetResource SetResource ResetResource PauseResource ResumeResource ListSequences ResumeSequence
        ListLifecycles GetLifecycle GetLifecycleDiagram TryLifecycle ListTypes GetCredits GrantCredits EraseUser ListEvents
        GetStats ListAudit ListKeys CreateKey RotateKey RevokeKey
    }
    automations {
        ListSchedules CreateSchedule GetSchedule ReplaceSchedule DeleteSchedule PauseSchedule ResumeSchedule RunSchedule
        ListWebhooks CreateWebhook GetWebhook DeleteWebhook EnableWebhook DisableWebhook ReplayWebhook
    }
    server {
        GetHealth GetReadiness GetMetrics GetOpenapi GetDocs GetProblem
    }
}

impl CallId {
    /// The call for a worker's report about one job.
    pub const fn of_verb(verb: crate::Verb) -> Self {
        use crate::Verb;
        match verb {
            Verb::Start => Self::StartJob,
            Verb::Heartbeat => Self::HeartbeatJob,
            Verb::Progress => Self::ReportProgress,
            Verb::Succeed => Self::SucceedJob,
            Verb::Partial => Self::PartialJob,
            Verb::Fail => Self::FailJob,
            Verb::Reject => Self::RejectJob,
            Verb::Release => Self::ReleaseJob,
            Verb::CancelConfirm => Self::ConfirmCancel,
        }
    }

    /// The verb of a worker's report about one job.
    pub fn verb(self) -> Option<crate::Verb> {
        crate::Verb::ALL.iter().copied().find(|verb| Self::of_verb(*verb) == self)
    }

    /// The call with this method and path, whose variable segments match anything.
    pub fn find(method: &str, path: &str) -> Option<Self> {
        let is = |id: &Self| id.call().method.as_str() == method && matches(id.call().path, path);
        // A literal segment goes before a variable one.
        let mut found: Vec<Self> = Self::ALL.iter().copied().filter(is).collect();
        found.sort_by_key(|id| id.call().path.matches('{').count());
        found.first().copied()
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return true,
            (Some(expected), Some(actual)) if expected.starts_with('{') || expected == actual => {}
            _ => return false,
        }
    }
}
