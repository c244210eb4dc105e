//! Signals that end a worker. A separate thread waits for them, so that a handler that blocks its runtime cannot delay them.

use tokio::sync::oneshot;

use crate::error::{Error, Result};

/// The receiver resolves at the first signal. The next one ends the process, and so does the first if the receiver is dropped.
pub(super) async fn shutdown() -> Result<oneshot::Receiver<()>> {
    let (ready, is_ready) = oneshot::channel();
    let (first, received) = oneshot::channel();
    let thread = std::thread::Builder::new().name("tenure-signals".into());
    let spawned = thread.spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        match runtime {
            Ok(runtime) => runtime.block_on(listen(ready, first)),
            Err(why) => drop(ready.send(Err(why))),
        }
    });
    spawned.map_err(|why| not_received(&why))?;
    let is_ready = is_ready.await.map_err(|why| not_received(&why))?;
    is_ready.map_err(|why| not_received(&why))?;
    Ok(received)
}

async fn listen(ready: oneshot::Sender<std::io::Result<()>>, first: oneshot::Sender<()>) {
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(why) => return drop(ready.send(Err(why))),
    };
    // Without a receiver, the worker was dropped.
    let _ = ready.send(Ok(()));
    let mut exit_code = signals.next().await;
    if first.send(()).is_ok() {
        exit_code = signals.next().await;
    }
    std::process::exit(exit_code)
}

fn not_received(why: &dyn std::error::Error) -> Error {
    Error::Protocol(format!("cannot wait for signals: {why}"))
}

/// SIGINT and SIGTERM, or ctrl-c where there are none.
struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for a signal; the exit code of a process that it ended.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
    fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    async fn next(&mut self) -> i32 {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        130
    }
}
