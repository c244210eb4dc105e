//! What may change how jobs run, as marks for charts: actions of operators on queues, resources and sequences, configurations,
//! lifecycle versions, and starts of nodes.

use tenure_core::event::AuditLine;
use tenure_core::node::NodeRecord;

use crate::Stats;
use crate::cached_read::ReadResult;
use crate::prelude::*;

/// Actions of the audit log that are marked, with what they did.
const MARKED: [(&str, &str); 9] = [
    (AuditLine::CONFIGURE, "changed the configuration:"),
    ("lifecycle_register", "registered lifecycle"),
    ("pause", "paused queue"),
    ("resume", "resumed queue"),
    ("pause-resource", "paused resource"),
    ("resume-resource", "resumed resource"),
    ("set-resource", "set the limits of resource"),
    ("reset-resource", "reset the limits of resource"),
    ("resume-sequence", "resumed sequence"),
];
/// Lines of the audit log, without those about jobs, among which they are looked for.
const AUDIT_LINES: usize = 1000;

/// An action of an operator, or a part of a deploy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub at: Timestamp,
    /// `paused queue default`.
    pub text: String,
    pub actor: Name,
}

impl Stats {
    /// Those from one time on and before another, newest first: actions as far as they are among the last lines of the audit log that
    /// are not about jobs, and nodes that reported in the last hour.
    pub async fn marks(&self, from: Timestamp, before: Timestamp) -> Result<Vec<Mark>, StoreError> {
        let marks = self.marks.get(|| read_marks(self.runtime.clone())).await?;
        Ok(marks.iter().filter(|mark| from <= mark.at && mark.at < before).cloned().collect())
    }
}

async fn read_marks(runtime: Runtime) -> ReadResult<Vec<Mark>> {
    let lines = runtime.store().audit_without_job(u64::MAX, AUDIT_LINES).await?;
    let nodes = runtime.store().nodes().await?;
    let mut marks: Vec<Mark> = lines.iter().filter_map(|(_, line)| of_line(line)).collect();
    marks.extend(nodes.iter().map(of_node));
    marks.sort_by_key(|mark| std::cmp::Reverse(mark.at));
    Ok(marks)
}

fn of_line(line: &AuditLine) -> Option<Mark> {
    if line.is_baseline() {
        return None;
    }
    let (_, what) = MARKED.iter().find(|(action, _)| line.action == *action)?;
    let text = format!("{what} {}", line.reason.as_deref().unwrap_or_default());
    Some(Mark { at: line.ts, text: text.trim_end().to_owned(), actor: line.actor.as_str().into() })
}

/// The start of a node, which may be a deploy of another version.
fn of_node(node: &NodeRecord) -> Mark {
    let text = format!("started node {}, Tenure {}", node.address, node.version);
    Mark { at: node.started_at, text, actor: "server".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deploys_and_pauses_are_marked() {
        let line = |action: &str, reason: &str| AuditLine {
            ts: Timestamp(1),
            actor: "server".into(),
            action: action.into(),
            job_id: None,
            reason: Some(reason.into()),
            details: None,
        };
        let text = |action, reason| of_line(&line(action, reason)).map(|mark| mark.text);
        let marked = |text: &str| Some(text.to_owned());
        assert_eq!(text("pause", "mail"), marked("paused queue mail"));
        assert_eq!(text("configure", "types.a.lease"), marked("changed the configuration: types.a.lease"));
        assert_eq!(text("lifecycle_register", "mine v2"), marked("registered lifecycle mine v2"));
        assert_eq!(text("retry", "mine"), None);
        let node = NodeRecord {
            id: "n".into(),
            address: "a:1".into(),
            version: "1.2".into(),
            started_at: Timestamp(7),
            seen_at: Timestamp(9),
            stopped: false,
            tally: String::new(),
        };
        let mark = of_node(&node);
        assert_eq!((mark.text.as_str(), mark.at), ("started node a:1, Tenure 1.2", Timestamp(7)));
    }
}
