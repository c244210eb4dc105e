//! The encoding of all records besides jobs and events, the same in both databases.

use std::sync::Arc;

use tenure_core::api_key::{KeyDetails, Role};
use tenure_core::flow::{FlowKeys, FlowRecord, FlowRecordId, FlowRecordKind};
use tenure_core::json::Json;
use uuid::Uuid;

use crate::codec::{corrupt, event, text};
use crate::live::{CountKey, ReadyJob};
use crate::prelude::*;
use crate::row::{ColumnWriter, Int4, RowReader};
use crate::{CompletedJob, Count, JournalEntry, Result};

/// The columns of `events`, and those of its job that readers filter by.
pub(crate) fn journal_entry(row: &mut RowReader<'_>) -> Result<JournalEntry> {
    let event = event(row)?;
    let (position, lifecycle, job_type) = (row.get()?, row.name()?, row.name()?);
    let (queue, user_id) = (row.name()?, row.optional_name()?);
    let (correlation_id, traceparent) = (row.optional_text()?, row.optional_text()?);
    let links = Links { correlation_id, traceparent, ..Links::default() };
    let (correlation_id, trace_id) = (links.correlation_id(event.job_id), links.trace_id(event.job_id));
    Ok(JournalEntry { position, event, lifecycle, job_type, queue, user_id, correlation_id, trace_id })
}

pub(crate) fn job_id(row: &mut RowReader<'_>) -> Result<JobId> {
    row.get().map(JobId)
}

pub(crate) fn job_id_columns<'a>(row: &mut impl ColumnWriter<'a, &'a JobId>) {
    row.with(|job| job.0);
}

/// What `open_ready.sql` reads of a ready job.
pub(crate) fn ready_job(row: &mut RowReader<'_>) -> Result<ReadyJob> {
    Ok(ReadyJob {
        id: job_id(row)?,
        priority: row.get::<Int4>()?.0 as i32,
        run_at: row.get()?,
        clock: row.get()?,
        key: Arc::new(CountKey {
            lifecycle: row.name()?,
            job_type: row.name()?,
            queue: row.name()?,
            state: row.name()?,
        }),
        is_new: row.get::<Int4>()?.0 <= 1,
        flow: flow_keys(row.get()?)?,
    })
}

/// The keys of a job; null in jobs without any.
fn flow_keys(text: Option<String>) -> Result<Arc<FlowKeys>> {
    let parsed = text.map(|text| serde_json::from_str::<FlowKeys>(&text)).transpose();
    let parsed = parsed.map_err(|error| corrupt("jobs", "flow", &error.to_string()))?;
    Ok(parsed.map_or_else(FlowKeys::none, FlowKeys::shared))
}

/// A record of flow control.
pub(crate) fn flow_record(row: &mut RowReader<'_>) -> Result<FlowRecord> {
    let (kind, name, key): (String, String, String) = (row.get()?, row.get()?, row.get()?);
    let (body, expires_at): (String, Option<Timestamp>) = (row.get()?, row.get()?);
    let corrupt = || corrupt("flow_records", format!("{kind} {name} {key}"), "body");
    let id: FlowRecordId = (FlowRecordKind::parse(&kind).ok_or_else(corrupt)?, name.clone(), key.clone());
    FlowRecord::parse(&id, &body, expires_at).ok_or_else(corrupt)
}

pub(crate) fn flow_record_columns<'a>(row: &mut impl ColumnWriter<'a, &'a FlowRecord>) {
    row.with(|record| record.id().0.as_str())
        .with(|record| record.id().1)
        .with(|record| record.id().2)
        .with(|record| text(&record.body()))
        .with(FlowRecord::expires_at);
}

pub(crate) fn flow_record_id_columns<'a>(row: &mut impl ColumnWriter<'a, &'a FlowRecordId>) {
    row.with(|(kind, ..)| kind.as_str()).with(|(_, name, _)| name.as_str()).with(|(_, _, key)| key.as_str());
}

pub(crate) fn completed_job(row: &mut RowReader<'_>) -> Result<CompletedJob> {
    Ok(CompletedJob {
        id: job_id(row)?,
        lifecycle_version: row.get::<Int4>()?.0 as u32,
        completed_at: row.get()?,
    })
}

pub(crate) fn count(row: &mut RowReader<'_>) -> Result<Count> {
    Ok(Count {
        lifecycle: row.name()?,
        job_type: row.name()?,
        queue: row.name()?,
        state: row.name()?,
        count: row.get()?,
    })
}

pub(crate) fn log_line(row: &mut RowReader<'_>) -> Result<LogLine> {
    Ok(LogLine { n: row.get()?, ts: row.get()?, stream: row.name()?, level: row.name()?, text: row.get()? })
}

pub(crate) fn log_columns<'a>(row: &mut impl ColumnWriter<'a, &'a (JobId, LogLine)>) {
    row.with(|(job, _)| job.0)
        .with(|(_, line)| line.n)
        .with(|(_, line)| line.ts)
        .with(|(_, line)| line.stream.as_str())
        .with(|(_, line)| line.level.as_str())
        .with(|(_, line)| line.text.as_str());
}

pub(crate) fn telemetry(row: &mut RowReader<'_>) -> Result<Telemetry> {
    let job_id = job_id(row)?;
    Ok(Telemetry {
        job_id,
        ts: row.get()?,
        worker: row.name()?,
        fence: row.get()?,
        signal: serde_json::from_str(row.get()?).map_err(|_| corrupt("telemetry", job_id, "signal"))?,
        keep_until: row.get()?,
    })
}

pub(crate) fn telemetry_columns<'a>(row: &mut impl ColumnWriter<'a, &'a Telemetry>) {
    row.with(|line| line.job_id.0)
        .with(|line| line.ts)
        .with(|line| line.worker.as_str())
        .with(|line| line.fence)
        .with(|line| text(&line.signal))
        .with(|line| line.keep_until);
}

pub(crate) fn dead_letter(row: &mut RowReader<'_>) -> Result<DeadLetter> {
    let text = row.get()?;
    serde_json::from_str(text).map_err(|error| corrupt("dead_letters", text, &error.to_string()))
}

pub(crate) fn dead_letter_columns<'a>(row: &mut impl ColumnWriter<'a, &'a DeadLetter>) {
    row.with(|letter| letter.job_id.0)
        .with(|letter| letter.created_at)
        .with(|letter| letter.reason_code.as_str())
        .with(|letter| letter.stage.map(Stage::as_str))
        .with(|letter| letter.dismissed.is_some())
        .with(text);
}

pub(crate) fn user(row: &mut RowReader<'_>) -> Result<UserId> {
    row.text()
}

pub(crate) fn queue(row: &mut RowReader<'_>) -> Result<QueueName> {
    row.text()
}

pub(crate) fn queue_columns<'a>(row: &mut impl ColumnWriter<'a, &'a QueueName>) {
    row.with(QueueName::as_str);
}

pub(crate) fn user_columns<'a>(row: &mut impl ColumnWriter<'a, &'a UserId>) {
    row.with(UserId::as_str);
}

/// An erased user and its alias.
pub(crate) fn alias_columns<'a>(row: &mut impl ColumnWriter<'a, (&'a UserId, &'a UserId)>) {
    row.with(|(user, _)| user.as_str()).with(|(_, alias)| alias.as_str());
}

pub(crate) fn name_columns<'a>(row: &mut impl ColumnWriter<'a, &'a Name>) {
    row.with(Name::as_str);
}

pub(crate) fn time_columns<'a>(row: &mut impl ColumnWriter<'a, Timestamp>) {
    row.with(|time| time);
}

/// `granted, reserved, spent`.
pub(crate) fn amounts(row: &mut RowReader<'_>) -> Result<Account> {
    Ok(Account { granted: row.get()?, reserved: row.get()?, spent: row.get()? })
}

pub(crate) fn account(row: &mut RowReader<'_>) -> Result<(UserId, Account)> {
    Ok((row.text()?, amounts(row)?))
}

pub(crate) fn account_columns<'a>(row: &mut impl ColumnWriter<'a, (&'a UserId, Account)>) {
    row.with(|(user, _)| user.as_str())
        .with(|(_, account)| account.granted)
        .with(|(_, account)| account.reserved)
        .with(|(_, account)| account.spent);
}

/// A kind of movement, of the ledger of a user or with a row number.
pub(crate) fn movement(row: &mut RowReader<'_>, key: impl ToString) -> Result<Movement> {
    Movement::parse(row.get()?).ok_or_else(|| corrupt("ledger", key, "kind"))
}

pub(crate) fn ledger_line(row: &mut RowReader<'_>) -> Result<(u64, LedgerLine)> {
    let id = row.get()?;
    let line = LedgerLine {
        ts: row.get()?,
        user_id: row.name()?,
        kind: movement(row, id)?,
        amount: row.get()?,
        job_id: row.get::<Option<Uuid>>()?.map(JobId),
        reason: row.get()?,
    };
    Ok((id, line))
}

pub(crate) fn ledger_columns<'a>(row: &mut impl ColumnWriter<'a, &'a LedgerLine>) {
    row.with(|line| line.ts)
        .with(|line| line.user_id.as_str())
        .with(|line| line.kind.as_str())
        .with(|line| line.amount)
        .with(|line| line.job_id.map(|id| id.0))
        .with(|line| line.reason.as_deref());
}

pub(crate) fn audit_line(row: &mut RowReader<'_>) -> Result<(u64, AuditLine)> {
    let id = row.get()?;
    let line = AuditLine {
        ts: row.get()?,
        action: row.name()?,
        actor: row.name()?,
        job_id: row.get::<Option<Uuid>>()?.map(JobId),
        reason: row.get()?,
        details: row.get::<Option<&str>>()?.map(Json::stored),
    };
    Ok((id, line))
}

pub(crate) fn audit_columns<'a>(row: &mut impl ColumnWriter<'a, &'a AuditLine>) {
    row.with(|line| line.ts)
        .with(|line| line.action.as_str())
        .with(|line| line.actor.as_str())
        .with(|line| line.job_id.map(|id| id.0))
        .with(|line| line.reason.as_deref())
        .with(|line| line.details.as_ref().map(Json::as_str));
}

pub(crate) fn lifecycle(row: &mut RowReader<'_>) -> Result<(LifecycleRef, String)> {
    let (name, version) = (row.text()?, row.get::<Int4>()?.0 as u32);
    Ok((LifecycleRef { name, version }, row.get()?))
}

pub(crate) fn lifecycle_ref_columns<'a>(row: &mut impl ColumnWriter<'a, &'a LifecycleRef>) {
    row.with(|key| key.name.as_str()).with(|key| Int4(key.version.into()));
}

pub(crate) fn lifecycle_columns<'a>(row: &mut impl ColumnWriter<'a, (&'a LifecycleRef, &'a str)>) {
    row.with(|(key, _)| key.name.as_str())
        .with(|(key, _)| Int4(key.version.into()))
        .with(|(_, source)| source);
}

/// The columns of `keys` after the id.
pub(crate) fn key(row: &mut RowReader<'_>, id: KeyId) -> Result<KeyRecord> {
    let corrupt = |what: &str| corrupt("keys", Uuid::from_bytes(id.0), what);
    let fingerprint = row.get::<Option<&[u8]>>()?.map(TryInto::try_into).transpose();
    Ok(KeyRecord {
        id,
        fingerprint: fingerprint.map_err(|_| corrupt("fingerprint"))?,
        targets: serde_json::from_str(row.get()?).map_err(|_| corrupt("targets"))?,
        created_at: row.get()?,
        expires_at: row.get()?,
    })
}

pub(crate) fn key_columns<'a>(row: &mut impl ColumnWriter<'a, &'a KeyRecord>) {
    row.with(|record| Uuid::from_bytes(record.id.0))
        .with(|record| record.fingerprint.as_ref().map(|bytes| &bytes[..]))
        .with(|record| text(&record.targets))
        .with(|record| record.created_at)
        .with(|record| record.expires_at);
}

pub(crate) fn api_key(row: &mut RowReader<'_>) -> Result<ApiKey> {
    let id: Name = row.text()?;
    let corrupt = |what: &str| corrupt("api_keys", &id, what);
    Ok(ApiKey {
        role: Role::parse(row.get()?).ok_or_else(|| corrupt("role"))?,
        user_id: row.optional_text()?,
        digest: row.get::<&[u8]>()?.try_into().map_err(|_| corrupt("digest"))?,
        created_at: row.get()?,
        created_by: row.text()?,
        revoked_at: row.get()?,
        details: Box::new(key_details(row.get()?).ok_or_else(|| corrupt("details"))?),
        last_used_at: row.get()?,
        id,
    })
}

/// Keys of earlier versions have no details.
fn key_details(text: Option<&str>) -> Option<KeyDetails> {
    text.map_or(Some(KeyDetails::default()), |text| serde_json::from_str(text).ok())
}

pub(crate) fn api_key_columns<'a>(row: &mut impl ColumnWriter<'a, &'a ApiKey>) {
    row.with(|key| key.id.as_str())
        .with(|key| key.role.as_str())
        .with(|key| key.user_id.as_deref())
        .with(|key| &key.digest[..])
        .with(|key| key.created_at)
        .with(|key| key.created_by.as_str())
        .with(|key| key.revoked_at)
        .with(|key| text(&*key.details));
}

/// A key, and when it was last used.
pub(crate) fn key_use_columns<'a>(row: &mut impl ColumnWriter<'a, (&'a Name, &'a Timestamp)>) {
    row.with(|(key, _)| key.as_str()).with(|(_, at)| *at);
}

pub(crate) fn session(row: &mut RowReader<'_>) -> Result<Session> {
    serde_json::from_str(row.get()?).map_err(|error| corrupt("sessions", "body", &error.to_string()))
}

pub(crate) fn session_columns<'a>(row: &mut impl ColumnWriter<'a, (&'a Name, &'a Session)>) {
    row.with(|(digest, _)| digest.as_str())
        .with(|(_, session)| session.expires_at)
        .with(|(_, session)| text(session));
}

pub(crate) fn intake_record(row: &mut RowReader<'_>) -> Result<IntakeRecord> {
    serde_json::from_str(row.get()?).map_err(|error| corrupt("intake_records", "body", &error.to_string()))
}

pub(crate) fn intake_record_columns<'a>(row: &mut impl ColumnWriter<'a, &'a IntakeRecord>) {
    row.with(|record| record.id.0)
        .with(IntakeRecord::is_refused_job)
        .with(|record| record.user_id.as_deref())
        .with(|record| record.job_type.as_str())
        .with(|record| record.queue.as_deref())
        .with(|record| record.correlation_id.as_deref())
        .with(|record| record.keep_until)
        .with(text);
}

pub(crate) fn pending_request(row: &mut RowReader<'_>) -> Result<PendingRequest> {
    Ok(PendingRequest {
        id: job_id(row)?,
        job_type: row.name()?,
        queue: row.optional_name()?,
        user_id: row.optional_name()?,
        correlation_id: row.optional_text()?,
        requested_at: row.get()?,
    })
}

pub(crate) fn asset(row: &mut RowReader<'_>) -> Result<Asset> {
    Ok(Asset {
        id: AssetId(row.get()?),
        job_id: JobId(row.get()?),
        user_id: row.optional_text()?,
        asset_type: row.text()?,
        url: row.get()?,
        storage_path: row.get()?,
        file_size: row.get()?,
        stored: row.get()?,
        created_at: row.get()?,
        discarded_at: row.get()?,
    })
}

pub(crate) fn asset_columns<'a>(row: &mut impl ColumnWriter<'a, &'a Asset>) {
    row.with(|asset| asset.id.0)
        .with(|asset| asset.job_id.0)
        .with(|asset| asset.user_id.as_deref())
        .with(|asset| asset.asset_type.as_str())
        .with(|asset| asset.url.as_str())
        .with(|asset| asset.storage_path.as_deref())
        .with(|asset| asset.file_size)
        .with(|asset| asset.stored)
        .with(|asset| asset.created_at)
        .with(|asset| asset.discarded_at);
}

/// When the assets of a job were discarded.
pub(crate) fn discard_columns<'a>(row: &mut impl ColumnWriter<'a, (&'a JobId, &'a Timestamp)>) {
    row.with(|(job, _)| job.0).with(|(_, at)| *at);
}

pub(crate) fn path_columns<'a>(row: &mut impl ColumnWriter<'a, &'a String>) {
    row.with(String::as_str);
}

/// An object, and when it is deleted.
pub(crate) fn garbage_columns<'a>(row: &mut impl ColumnWriter<'a, (&'a String, &'a Timestamp)>) {
    row.with(|(path, _)| path.as_str()).with(|(_, due)| *due);
}

pub(crate) fn automation(row: &mut RowReader<'_>) -> Result<Automation> {
    serde_json::from_str(row.get()?).map_err(|error| corrupt("orders", "body", &error.to_string()))
}

pub(crate) fn automation_id_columns<'a>(row: &mut impl ColumnWriter<'a, &'a AutomationId>) {
    row.with(|(kind, _)| kind.as_str()).with(|(_, name)| name.as_str());
}

pub(crate) fn automation_columns<'a>(row: &mut impl ColumnWriter<'a, (&'a AutomationId, &'a Automation)>) {
    row.with(|((kind, _), _)| kind.as_str())
        .with(|((_, name), _)| name.as_str())
        .with(|(_, automation)| automation.due_at())
        .with(|(_, automation)| text(automation));
}

pub(crate) fn worker(row: &mut RowReader<'_>) -> Result<WorkerRecord> {
    Ok(WorkerRecord {
        name: row.text()?,
        credential: row.optional_text()?,
        seen_at: row.get()?,
        connection: row.get()?,
    })
}

pub(crate) fn worker_columns<'a>(row: &mut impl ColumnWriter<'a, &'a WorkerRecord>) {
    row.with(|worker| worker.name.as_str())
        .with(|worker| worker.credential.as_deref())
        .with(|worker| worker.seen_at)
        .with(|worker| worker.connection);
}

pub(crate) fn period(row: &mut RowReader<'_>) -> Result<(PeriodId, PeriodCounts)> {
    let (resolution, kind, name): (&str, &str, &str) = (row.get()?, row.get()?, row.get()?);
    let corrupt = |why| corrupt("statistics", format!("{resolution} {kind} {name}"), why);
    let id = PeriodId {
        resolution: Resolution::parse(resolution).ok_or_else(|| corrupt("resolution"))?,
        series: Series::parse(kind, name).ok_or_else(|| corrupt("series"))?,
        start: row.get()?,
    };
    Ok((id, period_counts(row)?))
}

pub(crate) fn period_counts(row: &mut RowReader<'_>) -> Result<PeriodCounts> {
    let body: &str = row.get()?;
    serde_json::from_str(body).map_err(|error| corrupt("statistics", body, &error.to_string()))
}

pub(crate) fn period_id_columns<'a>(row: &mut impl ColumnWriter<'a, &'a PeriodId>) {
    row.with(|id| id.resolution.as_str())
        .with(|id| id.series.kind())
        .with(|id| id.series.name())
        .with(|id| id.start);
}

pub(crate) fn period_columns<'a>(row: &mut impl ColumnWriter<'a, (&'a PeriodId, &'a PeriodCounts)>) {
    row.with(|(id, _)| id.resolution.as_str())
        .with(|(id, _)| id.series.kind())
        .with(|(id, _)| id.series.name())
        .with(|(id, _)| id.start)
        .with(|(_, counts)| text(counts))
        .with(|(id, _)| id.expires_at());
}

pub(crate) fn node(row: &mut RowReader<'_>) -> Result<NodeRecord> {
    Ok(NodeRecord {
        id: row.text()?,
        address: row.text()?,
        version: row.text()?,
        started_at: row.get()?,
        seen_at: row.get()?,
        stopped: row.get()?,
        tally: row.get()?,
    })
}

pub(crate) fn node_columns<'a>(row: &mut impl ColumnWriter<'a, &'a NodeRecord>) {
    row.with(|node| node.id.as_str())
        .with(|node| node.address.as_str())
        .with(|node| node.version.as_str())
        .with(|node| node.started_at)
        .with(|node| node.seen_at)
        .with(|node| node.stopped)
        .with(|node| node.tally.as_str());
}
