//! Statistics over time in the store of a server that does not run.

use tenure_core::command::{Command, CommandEnvelope};
use tenure_core::decide::decide_batch;
use tenure_core::event::AuditLine;
use tenure_core::job_type::Catalog;
use tenure_core::statistics::{PeriodCounts, Resolution, Series, StatisticsReport};
use tenure_core::time::Timestamp;
use tenure_core::working_set::Reads;

use crate::{Server, Setup, Store};

/// What a node counted some minutes ago.
pub struct PastMinute {
    pub minutes_ago: i64,
    pub counts: Vec<(Series, PeriodCounts)>,
}

/// A server whose store has over two days of statistics of a type `mail`: every five minutes 30 jobs in the last day, 10 before.
/// A queue was paused 200 minutes ago.
pub async fn server_with_past(store: Store) -> Server {
    let setup = Setup::new(store).await;
    let minute = |n: i64| {
        let created = if n < 288 { 30 } else { 10 };
        let mut counts =
            PeriodCounts { created, finished: created, succeeded: created, ..PeriodCounts::default() };
        counts.wait.count(40, created);
        let counts = vec![(Series::All, counts.clone()), (Series::Type("mail".into()), counts)];
        PastMinute { minutes_ago: 2 + n * 5, counts }
    };
    setup.add_past((0..700).map(minute).collect()).await;
    setup.add_past_action(200, "pause", "bulk").await;
    setup.add_past_action(190, "grant", "10 for ann").await;
    setup.start().await
}

impl Setup {
    /// Opens the store.
    pub async fn open_store(&self) -> tenure_store::Store {
        let file = self.database_file();
        let folder = file.parent().expect("a file is in a folder");
        let opened = match self.database_url() {
            Some(url) => tenure_store::Store::connect(url).await,
            None => tenure_store::Store::open(folder).await,
        };
        opened.expect("the store can be opened")
    }

    /// Adds statistics as a node does.
    pub async fn add_past(&self, past: Vec<PastMinute>) {
        let store = self.open_store().await;
        let now = store.now().await.expect("the store works").at;
        let report = |(number, PastMinute { minutes_ago, counts }): (u64, PastMinute)| {
            let minute = Resolution::Minute.start(Timestamp(now.0 - minutes_ago * 60_000));
            let report = StatisticsReport { node: "past".into(), number, minute, counts };
            CommandEnvelope {
                by: "server".into(),
                key: None,
                command: Command::AddStatistics(Box::new(report)),
            }
        };
        let commands: Vec<_> = (0..).zip(past).map(report).collect();
        for batch in commands.chunks(200) {
            let (reads, batch) = (Reads::of(batch), batch.to_vec());
            let added =
                store.transact(reads, move |set, now| decide_batch(set, &Catalog::default(), &batch, now));
            assert!(added.await.expect("the store works").iter().all(Result::is_ok));
        }
    }

    /// Adds a line to the audit log: an action on a queue some minutes ago.
    pub async fn add_past_action(&self, minutes_ago: i64, action: &str, queue: &str) {
        let (action, queue) = (action.to_owned(), queue.to_owned());
        let store = self.open_store().await;
        let written = store.transact(Reads::default(), move |set, now| {
            set.changes.appended.audit.push(AuditLine {
                ts: Timestamp(now.at.0 - minutes_ago * 60_000),
                action: action.as_str().into(),
                actor: "operator:ann".into(),
                job_id: None,
                reason: Some(queue.clone()),
                details: None,
            });
        });
        written.await.expect("the store works");
    }

    /// The sum of all hours of a series.
    pub async fn sum_of_hours(&self, series: Series) -> PeriodCounts {
        let store = self.open_store().await;
        let hours = store.statistics(Resolution::Hour, series, Timestamp(0), Timestamp(i64::MAX));
        let mut sum = PeriodCounts::default();
        hours.await.expect("the store works").iter().for_each(|(_, counts)| sum.add(counts));
        sum
    }
}
