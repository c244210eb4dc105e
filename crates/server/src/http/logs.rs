//! A job's log: read, and appended to by its worker, its owner or an operator.

use tenure_core::command::{AppendLog, NewLogLine};
use tenure_core::limits::{LOG_LINE_BYTES_MAX, LOG_LINES_MAX};
use tenure_store::BoundedPage;

use crate::http::prelude::*;
use crate::http::reports::{missing, optional_holder};

pub(crate) async fn read(call: CallContext, Id(id): Id, mut params: QueryParams) -> Reply {
    let (after, limit) =
        (params.rows_after("after")?, params.number("limit", 1..=500)?.unwrap_or(500) as usize);
    params.done()?;
    call.job(id).await?;
    let BoundedPage { rows, has_more } = call.store().logs_page(id, after, limit).await?;
    let next = rows.last().filter(|_| has_more).map(|line| line.n.to_string());
    page(CallId::ListJobLogs, rows.iter().map(wire::log_line).collect(), next)
}

pub(crate) async fn append(call: CallContext, Id(id): Id, body: Body<request::NewLogLines>) -> Reply {
    let request::NewLogLines { worker, fence, lines } = body.value;
    let lines = checked(lines)?;
    let holder = optional_holder(name("#/worker", worker)?, fence, missing)?;
    if let Some(holder) = &holder {
        call.caller.may(Right::Work)?;
        call.touch_worker(&holder.worker).await?;
        call.check_scope(id).await?;
    } else {
        call.caller.may(Right::ManageJobs)?;
        call.managed_job(id).await?;
    }
    let output = call.submit(body.key, Command::Log(AppendLog { job: id, holder, lines })).await?;
    ok(&OutputAnswer { output, now: call.runtime().reading() })
}

fn checked(lines: Vec<request::NewLine>) -> Result<Vec<NewLogLine>> {
    let detail = format_args!("at most {LOG_LINES_MAX} lines at once");
    require(lines.len() <= LOG_LINES_MAX, "#/lines", detail)?;
    let one = |(index, line): (usize, request::NewLine)| {
        let at = |member: &str| format!("#/lines/{index}/{member}");
        if line.text.len() > LOG_LINE_BYTES_MAX {
            let detail = format!("line {index} is longer than {LOG_LINE_BYTES_MAX} bytes");
            return Err(Problem::new(ProblemCode::TooLarge, detail).with("limit", LOG_LINE_BYTES_MAX.into()));
        }
        let stream = name(&at("stream"), line.stream)?.unwrap_or_else(|| "stdout".into());
        let level = name(&at("level"), line.level)?.unwrap_or_else(|| "info".into());
        Ok(NewLogLine { stream, level, text: line.text })
    };
    lines.into_iter().enumerate().map(one).collect()
}
