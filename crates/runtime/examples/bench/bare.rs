//! The bare limit: callers that each wait for four appends, one thread that writes whatever has queued and calls
//! fdatasync once for all of it. Nothing is looked up, decided or indexed; nothing can be faster and as durable.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::Failed;
use crate::drive::Rate;
use crate::machine;

struct Append {
    bytes: usize,
    durable: oneshot::Sender<()>,
}

pub(crate) async fn measure(
    folder: &Path,
    callers: usize,
    seconds: u64,
    bytes: usize,
) -> Result<Rate, Failed> {
    let path = folder.join("bare.log");
    let (orders, inbox) = channel::<Append>();
    let log_path = path.clone();
    let writer = std::thread::spawn(move || write(&log_path, &inbox));
    let cpu = machine::cpu_us(false)?;
    let begun = Instant::now();
    let until = begun + Duration::from_secs(seconds);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..callers {
        let orders = orders.clone();
        tasks.spawn(async move {
            let mut count = 0_u64;
            while Instant::now() < until {
                for _ in 0..4 {
                    let (durable, done) = oneshot::channel();
                    if orders.send(Append { bytes: bytes / 4, durable }).is_err() || done.await.is_err() {
                        return count;
                    }
                }
                count += 1;
            }
            count
        });
    }
    drop(orders);
    let lifecycles: u64 = tasks.join_all().await.into_iter().sum();
    let rate = Rate::of(lifecycles, begun.elapsed(), machine::cpu_us(false)? - cpu);
    writer.join().map_err(|_| "the writer of the bare log panicked")??;
    std::fs::remove_file(path)?;
    Ok(rate)
}

fn write(path: &Path, inbox: &Receiver<Append>) -> std::io::Result<()> {
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(path)?;
    let mut buffer = Vec::new();
    while let Ok(first) = inbox.recv() {
        let mut group = vec![first];
        group.extend(inbox.try_iter());
        buffer.clear();
        buffer.resize(group.iter().map(|append| append.bytes).sum(), b'x');
        file.write_all(&buffer)?;
        file.sync_data()?;
        for append in group {
            // A caller that has gone away does not need to know.
            let _ = append.durable.send(());
        }
    }
    Ok(())
}
