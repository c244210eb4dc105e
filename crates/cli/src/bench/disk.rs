//! Limits of the disk: single durable writes, and a log file to which concurrent callers append in groups.

use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use tokio::sync::oneshot;

use super::stores::LIFECYCLE_BYTES;
use super::{Throughput, drive};

/// Durable writes of one block per second, one after the other.
pub(super) fn syncs_per_second(folder: &Path, span: Duration) -> Result<f64> {
    let path = folder.join("bare.log");
    let mut file = std::fs::File::create(&path)?;
    let (start, mut count) = (Instant::now(), 0_u32);
    while start.elapsed() < span {
        file.write_all(&[b'x'; 4096])?;
        file.sync_data()?;
        count += 1;
    }
    std::fs::remove_file(path)?;
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

struct Append {
    bytes: usize,
    durable: oneshot::Sender<()>,
}

/// Lifecycles per second of a store that does nothing but write: each caller waits for four appends, and one thread
/// writes all queued appends and calls fdatasync once for all of them. Nothing as durable can be faster.
pub(super) async fn group_commits(folder: &Path, callers: usize, span: Duration) -> Result<Throughput> {
    let path = folder.join("bare.log");
    let (sender, receiver) = channel::<Append>();
    let log_path = path.clone();
    let writer = std::thread::spawn(move || write(&log_path, &receiver));
    let throughput = drive(vec![sender; callers], span, move |sender: Sender<Append>| async move {
        for _ in 0..4 {
            let (durable, written) = oneshot::channel();
            sender.send(Append { bytes: LIFECYCLE_BYTES / 4, durable }).context("the log writer ended")?;
            written.await?;
        }
        Ok(1)
    })
    .await?;
    writer.join().map_err(|_| anyhow!("the log writer panicked"))??;
    std::fs::remove_file(path)?;
    Ok(throughput)
}

fn write(path: &Path, receiver: &Receiver<Append>) -> std::io::Result<()> {
    let mut file = std::fs::File::create(path)?;
    while let Ok(first) = receiver.recv() {
        let mut group = vec![first];
        group.extend(receiver.try_iter());
        file.write_all(&vec![b'x'; group.iter().map(|append| append.bytes).sum()])?;
        file.sync_data()?;
        for append in group {
            // Fails if the caller's time is over.
            let _ = append.durable.send(());
        }
    }
    Ok(())
}
