//! What changes of an unfinished job without an event, as a record of the journal: the times of a lease, progress, a cancel
//! request, the number of log lines. Also the deletion of a job, whose events are deleted with it.

use tenure_core::job::{CancelRequest, Clocks, Lease, Progress};

use crate::Result;
use crate::codec::{parse, text};
use crate::prelude::*;
use crate::row::{ColumnWriter, Int4, RowReader};

#[derive(Debug)]
pub(super) struct JobChange {
    pub(super) job_id: JobId,
    /// `None` if the job was deleted.
    pub(super) held: Option<HeldFields>,
}

/// The fields of a job that change between events, when it had `seq` events.
#[derive(Debug)]
pub(super) struct HeldFields {
    seq: u32,
    clocks: Clocks,
    updated_at: Timestamp,
    log_count: u64,
    lease: Option<Box<Lease>>,
    progress: Option<Box<Progress>>,
    cancel: Option<Box<CancelRequest>>,
}

impl HeldFields {
    /// Sets the fields, unless the job has had events since.
    pub(super) fn set(self, job: &mut Job) {
        if self.seq == job.seq {
            job.clocks = self.clocks;
            job.times.updated_at = self.updated_at;
            job.output.log_count = self.log_count;
            job.lease = self.lease;
            job.output.progress = self.progress;
            job.cancel = self.cancel;
        }
    }
}

/// The columns of `job_changes` after the position.
pub(super) fn job_change(row: &mut RowReader<'_>) -> Result<JobChange> {
    let job_id = JobId(row.get()?);
    let corrupt = |what: &str| crate::codec::corrupt("job_changes", job_id, what);
    let Some(Int4(seq)) = row.get()? else { return Ok(JobChange { job_id, held: None }) };
    let held = HeldFields {
        seq: u32::try_from(seq).map_err(|_| corrupt("seq"))?,
        clocks: Clocks { timeout: row.get()?, due: row.get()? },
        updated_at: row.get()?,
        log_count: row.get()?,
        lease: parse(row.get()?, || corrupt("lease"))?,
        progress: parse(row.get()?, || corrupt("progress"))?,
        cancel: parse(row.get()?, || corrupt("cancel"))?,
    };
    Ok(JobChange { job_id, held: Some(held) })
}

/// The columns of `insert_job_change`; without a job, it was deleted.
pub(super) fn job_change_columns<'a>(row: &mut impl ColumnWriter<'a, (JobId, Option<&'a Job>)>) {
    row.with(|(id, _)| id.0)
        .with(|(_, job)| job.map(|job| Int4(job.seq.into())))
        .with(|(_, job)| job.and_then(|job| job.clocks.timeout))
        .with(|(_, job)| job.and_then(|job| job.clocks.due))
        .with(|(_, job)| job.map(|job| job.times.updated_at))
        .with(|(_, job)| job.map(|job| job.output.log_count))
        .with(|(_, job)| job.and_then(|job| job.lease.as_deref()).map(text))
        .with(|(_, job)| job.and_then(|job| job.output.progress.as_deref()).map(text))
        .with(|(_, job)| job.and_then(|job| job.cancel.as_deref()).map(text));
}
