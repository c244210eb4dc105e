//! A job's log: read, and appended to by its worker, its owner or an operator.

use axum::extract::State;
use serde::Deserialize;
use tenure_core::command::{AppendLog, Command};
use tenure_core::id::{Fence, Name};
use tenure_core::limits::{LOG_LINE_BYTES_MAX, LOG_LINES_MAX};
use tenure_core::wire;
use tenure_store::Store as _;

use crate::app::App;
use crate::body::{Body, Object};
use crate::caller::{Caller, Right};
use crate::http::{Id, Reply, Shown, name, ok, page};
use crate::problem::{Problem, TOO_LARGE};
use crate::query::Given;

pub(crate) async fn read(State(app): State<App>, caller: Caller, Id(id): Id, mut given: Given) -> Reply {
    caller.may(Right::See)?;
    let (after, limit) =
        (given.rows_after("after")?, given.number("limit", (1, 500))?.unwrap_or(500) as usize);
    given.done()?;
    app.job(&caller, id).await?;
    let lines = app.store().logs(id, after, limit).await?;
    let next = (lines.len() == limit).then(|| lines.last().map(|line| line.n.to_string())).flatten();
    page("lines", lines.iter().map(wire::log_line).collect(), next)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogBody {
    worker: Option<String>,
    fence: Option<u64>,
    lines: Vec<Object<LineBody>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineBody {
    stream: Option<String>,
    level: Option<String>,
    text: String,
}

pub(crate) async fn append(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    given: Given,
    body: Body<LogBody>,
) -> Reply {
    given.done()?;
    let LogBody { worker, fence, lines } = body.value;
    let lines = checked(lines)?;
    let holder = match (name("#/worker", worker)?, fence) {
        (Some(worker), Some(fence)) => Some((worker, Fence(fence))),
        (None, None) => None,
        (None, Some(_)) => return Err(Problem::malformed("#/worker", "missing field `worker`")),
        (Some(_), None) => return Err(Problem::malformed("#/fence", "missing field `fence`")),
    };
    if let Some((worker, _)) = &holder {
        caller.may(Right::Work)?;
        app.hear(&caller, worker).await?;
    } else {
        caller.may(Right::Own)?;
        app.job(&caller, id).await?;
    }
    let done = app.submit(&caller, body.key, Command::Log(AppendLog { job: id, holder, lines })).await?;
    ok(&Shown { done, now: app.runtime().reading() })
}

/// Stream, level and text of each line, within their bounds.
fn checked(lines: Vec<Object<LineBody>>) -> Result<Vec<(Name, Name, String)>, Problem> {
    if lines.len() > LOG_LINES_MAX {
        return Err(Problem::malformed("#/lines", format!("at most {LOG_LINES_MAX} lines at once")));
    }
    let one = |(index, Object(line)): (usize, Object<LineBody>)| {
        let at = |member: &str| format!("#/lines/{index}/{member}");
        if line.text.len() > LOG_LINE_BYTES_MAX {
            let detail = format!("line {index} is longer than {LOG_LINE_BYTES_MAX} bytes");
            return Err(Problem::new(&TOO_LARGE, detail).with("limit", LOG_LINE_BYTES_MAX.into()));
        }
        let stream = name(&at("stream"), line.stream)?.unwrap_or_else(|| "stdout".into());
        let level = name(&at("level"), line.level)?.unwrap_or_else(|| "info".into());
        Ok((stream, level, line.text))
    };
    lines.into_iter().enumerate().map(one).collect()
}
