//! Every bound, in one place, with its unit last and its relations checked when this compiles.

/// A job's payload, and a lifecycle's own text in a report: result, checkpoint, error details.
pub const PAYLOAD_BYTES_MAX: usize = 1 << 20;
/// What one event may weigh: a result and an error fit.
pub const EVENT_BYTES_MAX: usize = 4 << 20;
/// Any name: type, queue, worker, user, correlation id, idempotency key.
pub const NAME_BYTES_MAX: usize = 255;
/// An error's message, a reason, a progress message.
pub const MESSAGE_BYTES_MAX: usize = 16 << 10;
/// One line of a job's log.
pub const LOG_LINE_BYTES_MAX: usize = 64 << 10;
/// Lines in one append.
pub const LOG_LINES_MAX: usize = 10_000;
/// Assets of one job.
pub const ASSETS_MAX: usize = 1000;
/// Bytes of one asset, as far as anyone may say.
pub const ASSET_BYTES_MAX: u64 = 1 << 53;
/// An asset's URL.
pub const URL_BYTES_MAX: usize = 2048;
/// Where an asset is kept.
pub const STORAGE_PATH_BYTES_MAX: usize = 1024;
/// An upload that was not heard of for so long is given up, and what it wrote deleted.
pub const UPLOAD_IDLE_MS_MAX: u64 = 60_000;
/// An upload that would be given up sooner than this is too late to become an asset. No commit takes so long.
pub const UPLOAD_MARGIN_MS: u64 = 20_000;
/// Jobs that one claim may ask for.
pub const CLAIM_JOBS_MAX: u32 = 1000;
/// Attempts that a type may allow.
pub const ATTEMPTS_MAX: u32 = 1000;
/// Priorities reach from minus to plus this.
pub const PRIORITY_MAX: i32 = 1_000_000;
/// The longest span that can be written: a hundred years.
pub const SPAN_MS_MAX: u64 = 100 * 365 * 86_400_000;
/// The shortest lease.
pub const LEASE_MS_MIN: u64 = 1000;
/// Nesting of a payload.
pub const JSON_DEPTH_MAX: usize = 64;
/// A lifecycle file.
pub const LIFECYCLE_BYTES_MAX: usize = 256 << 10;
/// States of one lifecycle.
pub const STATES_MAX: usize = 64;
/// Rules of one lifecycle, after lists are written out.
pub const RULES_MAX: usize = 4096;
/// Credits that an account can hold.
pub const CREDITS_MAX: u64 = 1 << 53;
/// A worker that was not heard for so long is forgotten.
pub const WORKER_UNSEEN_MS_MAX: u64 = 24 * 3_600_000;
/// A node that was not heard for so long is forgotten, and what it counted with it.
pub const NODE_UNSEEN_MS_MAX: u64 = 3_600_000;
/// Missed times of a schedule that are made up for at once.
pub const MISFIRES_MAX: usize = 100;
/// What went wrong with a schedule or a webhook, as it is kept.
pub const AUTOMATION_ERROR_CHARS_MAX: usize = 1000;
/// Schedules, and webhooks, that are told of at once.
pub const AUTOMATIONS_MAX: usize = 10_000;
/// Clock triggers that one command may find overdue on one job; a checked lifecycle needs far fewer.
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
