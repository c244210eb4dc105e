//! Tools that change something. They exist only with `--allow-changes`, and the server checks the rights of the key.

use anyhow::Result;
use serde_json::json;
use tenure_api::request::Cancel;
use tenure_api::{CallId, CancelMode, NamedResult, RedriveResults};

use super::answer::{AnswerRows, OBJECT_BYTES_MAX, ToolAnswer};
use super::arguments::Arguments;
use super::error::ToolError;
use super::reads::{JOB_ROW, QUEUE};
use super::shape::{Fields, Shape, Untrusted, raw};
use crate::client::{Answer, Server};
use crate::id;

/// The most dead letters that one call redrives.
pub(super) const REDRIVEN_MAX: usize = 50;
/// The most bytes of the result for one of them.
const RESULT_BYTES_MAX: usize = 400;
const _: () =
    assert!(REDRIVEN_MAX * (RESULT_BYTES_MAX + 1) <= super::answer::ROWS_BYTES_MAX, "all results fit");

const REDRIVEN: Shape = Shape { trusted: &["job_id", "new_job_id", "code"], untrusted: Untrusted::All };

pub(super) async fn redrive(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    let mut ids = Vec::new();
    for job in arguments.names("jobs") {
        ids.push(id::resolve(server, job).await?);
    }
    let body = match arguments.count("max_per_second") {
        Some(count) => json!({ "ids": ids, "max_per_second": count }),
        None => json!({ "ids": ids }),
    };
    let answer: Answer<RedriveResults> = server.post(CallId::RedriveDeadLetters, &[], &body).await?;
    let rows: Vec<String> = answer.results.iter().map(redriven).collect();
    let rows = AnswerRows::window(rows, 0, REDRIVEN_MAX);
    let answered = rows.answer("results", vec![("redriven", answer.redriven.to_string())]);
    Ok(ToolAnswer { is_error: answer.redriven == 0, ..answered })
}

/// The new job, or why there is none.
fn redriven(result: &NamedResult) -> String {
    let mut fields = vec![("job_id", json!(result.job_id))];
    fields.extend(result.ok.iter().map(|job| ("new_job_id", json!(job.id))));
    if let Some(problem) = &result.error {
        let error = ToolError::refused(problem);
        fields.extend([("code", json!(error.code())), ("detail", json!(error.detail()))]);
    }
    let fields: Fields = fields.into_iter().map(|(name, value)| (name.to_owned(), raw(&value))).collect();
    REDRIVEN.rendered(&fields, RESULT_BYTES_MAX)
}

pub(super) async fn retry(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    let id = id::resolve(server, arguments.required("job")).await?;
    let job: Answer<Fields> = server.post(CallId::RetryJob, &[&id], &json!({})).await?;
    Ok(ToolAnswer::new(&[("new_job", JOB_ROW.rendered(&job, OBJECT_BYTES_MAX))]))
}

pub(super) async fn cancel(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    let id = id::resolve(server, arguments.required("job")).await?;
    let mode = match arguments.text("mode") {
        Some("hard") => CancelMode::Hard,
        _ => CancelMode::Soft,
    };
    let body = json!(Cancel { mode: Some(mode), reason: arguments.owned("reason") });
    let job: Answer<Fields> = server.post(CallId::CancelJob, &[&id], &body).await?;
    Ok(ToolAnswer::new(&[("job", JOB_ROW.rendered(&job, OBJECT_BYTES_MAX))]))
}

pub(super) async fn pause(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    queue(CallId::PauseQueue, arguments, server).await
}

pub(super) async fn resume(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    queue(CallId::ResumeQueue, arguments, server).await
}

async fn queue(call: CallId, arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    let name = arguments.required("queue");
    let queue: Answer<Fields> = server.post(call, &[name], &json!({})).await?;
    Ok(ToolAnswer::new(&[("queue", QUEUE.rendered(&queue, OBJECT_BYTES_MAX))]))
}
