//! Statistics over time: adds what a node counted in a minute to every period that contains the minute.

use crate::decide::{CommandOutput, DecisionContext};
use crate::statistics::StatisticsReport;

/// Periods that have expired get no row again.
pub(crate) fn add(context: &mut DecisionContext<'_>, report: &StatisticsReport) -> CommandOutput {
    let now = context.now.at;
    for (id, counts) in report.periods().filter(|(id, _)| id.expires_at() > now) {
        context.set.add_statistics(id, counts);
    }
    CommandOutput::Nothing
}
