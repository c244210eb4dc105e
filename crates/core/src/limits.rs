//! All limits, with the unit as suffix and their relations checked at compile time.

/// Payload, result, checkpoint and error details, each.
pub const PAYLOAD_BYTES_MAX: usize = 1 << 20;
/// An event: a result and an error fit.
pub const EVENT_BYTES_MAX: usize = 4 << 20;
/// The body of a call about one job: a result, an error and their names fit.
pub const JOB_BODY_BYTES_MAX: usize = EVENT_BYTES_MAX;
/// The body of a call without a payload or result: a claim of many types and queues, a list of ids.
pub const CALL_BODY_BYTES_MAX: usize = 1 << 20;
/// The jobs of one claim, payloads included. A claim returns fewer jobs instead of more bytes, but at least one.
pub const CLAIM_BYTES_MAX: usize = 8 << 20;
/// The jobs that a batch reads for its claims.
pub const CANDIDATE_BYTES_MAX: usize = 32 << 20;
/// The rows of one page of a list or of the journal. A page has fewer rows instead of more bytes, but at least one.
pub const PAGE_BYTES_MAX: usize = 8 << 20;
/// A form of the dashboard that a visitor without credentials may send.
pub const PUBLIC_FORM_BYTES_MAX: usize = 8 << 10;
/// Any name: type, queue, worker, user, correlation id, idempotency key.
pub const NAME_BYTES_MAX: usize = 255;
/// An error's message, a reason, a progress message.
pub const MESSAGE_BYTES_MAX: usize = 16 << 10;
/// One line of a job's log.
pub const LOG_LINE_BYTES_MAX: usize = 64 << 10;
/// Log lines in one request.
pub const LOG_LINES_MAX: usize = 10_000;
/// Assets of one job.
pub const ASSETS_MAX: usize = 1000;
/// Largest declared size of an asset.
pub const ASSET_BYTES_MAX: u64 = 1 << 53;
/// An asset's URL.
pub const URL_BYTES_MAX: usize = 2048;
/// An asset's storage path.
pub const STORAGE_PATH_BYTES_MAX: usize = 1024;
/// An upload without progress for this long is abandoned and its object deleted.
pub const UPLOAD_IDLE_MS_MAX: u64 = 60_000;
/// An upload closer than this to being abandoned cannot become an asset. Longer than any commit takes.
pub const UPLOAD_MARGIN_MS: u64 = 20_000;
/// Jobs in one claim.
pub const CLAIM_JOBS_MAX: u32 = 1000;
/// Secrets of a key that rotations replaced and that are still valid.
pub const KEY_EARLIER_SECRETS_MAX: usize = 8;
/// Types, and queues, that a key can be limited to.
pub const KEY_SCOPE_NAMES_MAX: usize = 100;
/// Attempts of a job.
pub const ATTEMPTS_MAX: u32 = 1000;
/// Priorities range from minus to plus this.
pub const PRIORITY_MAX: i32 = 1_000_000;
/// The longest span: a hundred years.
pub const SPAN_MS_MAX: u64 = 100 * 365 * 86_400_000;
/// The longest span of flow control: 366 days.
pub const FLOW_SPAN_MS_MAX: u64 = 366 * 86_400_000;
/// Running and waiting jobs, tokens and units of a resource.
pub const FLOW_COUNT_MAX: u64 = 1_000_000_000;
/// The weight of a key of a share.
pub const WEIGHT_MAX: u64 = 1_000_000;
/// Jobs of a group.
pub const GROUP_JOBS_MAX: u64 = 1000;
/// Resources.
pub const RESOURCES_MAX: usize = 1000;
/// Resources of one type.
pub const TYPE_RESOURCES_MAX: usize = 16;
/// Buckets with unfinished jobs.
pub const BUCKETS_MAX: usize = 1_000_000;
/// Buckets of a resource in one answer.
pub const LISTED_BUCKETS_MAX: usize = 100;
/// The shortest lease.
pub const LEASE_MS_MIN: u64 = 1000;
/// Nesting of a payload.
pub const JSON_DEPTH_MAX: usize = 64;
/// A lifecycle file.
pub const LIFECYCLE_BYTES_MAX: usize = 256 << 10;
/// States of one lifecycle.
pub const STATES_MAX: usize = 64;
/// Rules of one lifecycle, with lists expanded.
pub const RULES_MAX: usize = 4096;
/// Credits that an account can hold.
pub const CREDITS_MAX: u64 = 1 << 53;
/// Worker records expire after this time.
pub const WORKER_UNSEEN_MS_MAX: u64 = 24 * 3_600_000;
/// Names of workers that one credential uses within [`WORKER_UNSEEN_MS_MAX`] at one node.
pub const WORKER_NAMES_MAX: usize = 10_000;
/// Rows of each table that one `Prune` deletes, so that other commands do not wait long for it. In `prune_*.sql`, too.
pub const PRUNE_ROWS_MAX: usize = 1000;
/// Node records, with their counters, expire after this time.
pub const NODE_UNSEEN_MS_MAX: u64 = 3_600_000;
/// Missed times of a schedule for which jobs are created with `misfire = "all"`.
pub const MISFIRES_MAX: usize = 100;
/// Stored error text of a schedule or webhook.
pub const AUTOMATION_ERROR_CHARS_MAX: usize = 1000;
/// Schedules, and webhooks, in one listing.
pub const AUTOMATIONS_MAX: usize = 10_000;
/// Overdue clocks of one job that fire before a command; a checked lifecycle needs far fewer.
pub const OVERDUE_MAX: usize = 4 * ATTEMPTS_MAX as usize;

const _: () = assert!(
    2 * PAYLOAD_BYTES_MAX < EVENT_BYTES_MAX,
    "an event must be able to carry a result and a checkpoint"
);
const _: () = assert!(
    2 * UPLOAD_MARGIN_MS < UPLOAD_IDLE_MS_MAX,
    "an upload must be able to miss a word and still become an asset"
);
const _: () = assert!(MESSAGE_BYTES_MAX < PAYLOAD_BYTES_MAX, "a message is smaller than a payload");
