//! Asynchronous work that a signal stops.
//!
//! The first SIGINT or SIGTERM during work drops it, so that programs which it
//! started end too, once the calls of models under way have ended; the rest, such as rendering
//! what finished, still happens.
//! Any signal outside of work, a second one included, ends recap at once.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::bench::cores;
use crate::failure::{Exit, Failure};

/// Longest time that dropped work may delay the end of the program: long enough
/// to end the programs that it started.
const WIND_UP: Duration = Duration::from_secs(1);

/// The signal that stops work. One thread listens for the whole program: work may follow other
/// work, as a run does the plan that it is checked with.
static SIGNAL: OnceLock<watch::Receiver<Option<Exit>>> = OnceLock::new();

/// Whether a signal stops work rather than ending the program.
static UNDER_WAY: AtomicBool = AtomicBool::new(false);

/// Runs asynchronous work until it ends or a signal arrives.
pub(super) struct Work {
    /// `None` only while it is being dropped.
    runtime: Option<Runtime>,
    signal: watch::Receiver<Option<Exit>>,
}

impl Work {
    /// Starts a worker for each of so many jobs at a time, at most one a core, and, for the first
    /// work, the thread that waits for signals.
    ///
    /// # Errors
    /// If the system refuses to start threads.
    pub fn new(jobs: usize) -> Result<Self, Failure> {
        let workers = jobs.clamp(1, cores());
        let runtime = Builder::new_multi_thread().worker_threads(workers).enable_all().build();
        let runtime = runtime.map_err(|e| {
            Failure::usage(format!("cannot start worker threads: {e}")).help("use a lower --jobs")
        })?;
        let signal = match SIGNAL.get() {
            Some(signal) => signal.clone(),
            None => {
                let listens = listening().map_err(|e| {
                    Failure::usage(format!("cannot wait for signals: {e}"))
                        .help("the system could not start a thread; try again, or free some memory")
                })?;
                SIGNAL.get_or_init(|| listens).clone()
            }
        };
        Ok(Self { runtime: Some(runtime), signal })
    }

    /// Runs a future to its end, or drops it at a signal.
    ///
    /// # Errors
    /// If a signal arrived.
    pub fn run<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        self.run_until(work, async {})
    }

    /// Runs a future to its end, or at a signal until `wound_up`, and drops it then.
    ///
    /// # Errors
    /// If a signal arrived and the future did not end.
    pub fn run_until<T>(
        &mut self,
        work: impl Future<Output = T>,
        wound_up: impl Future<Output = ()>,
    ) -> Result<T, Failure> {
        let runtime = self.runtime.as_ref().expect("it is there until it is dropped");
        UNDER_WAY.store(true, Ordering::SeqCst);
        let signal = &mut self.signal;
        let stopped = async {
            let exit = signal.wait_for(Option::is_some).await.map(|exit| *exit);
            wound_up.await;
            // The sender lives as long as the program.
            let exit = exit.ok().flatten().unwrap_or(Exit::Interrupted);
            Failure::with_code(exit, "interrupted; nothing was written")
        };
        let done = runtime.block_on(async {
            tokio::select! {
                biased;
                stopped = stopped => Err(stopped),
                done = work => Ok(done),
            }
        });
        UNDER_WAY.store(false, Ordering::SeqCst);
        done
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(WIND_UP);
        }
    }
}

/// Starts the thread that listens; signals are caught once this returns.
fn listening() -> std::io::Result<watch::Receiver<Option<Exit>>> {
    let (tell, signal) = watch::channel(None);
    let (ready, caught) = mpsc::channel();
    let thread = std::thread::Builder::new().name("recap-signals".to_owned());
    thread.spawn(move || listen(&ready, &tell))?;
    caught.recv().unwrap_or(Ok(()))?;
    Ok(signal)
}

/// Reports the first signal during work, and ends the program at any other.
fn listen(ready: &mpsc::Sender<std::io::Result<()>>, tell: &watch::Sender<Option<Exit>>) {
    let runtime = match Builder::new_current_thread().enable_io().build() {
        Ok(runtime) => runtime,
        Err(e) => return drop(ready.send(Err(e))),
    };
    runtime.block_on(async {
        let mut signals = match Signals::caught() {
            Ok(signals) => signals,
            Err(e) => return drop(ready.send(Err(e))),
        };
        drop(ready.send(Ok(())));
        loop {
            let exit = signals.next().await;
            if !UNDER_WAY.swap(false, Ordering::SeqCst) {
                std::process::exit(exit.number().into());
            }
            tell.send_replace(Some(exit));
        }
    });
}

/// The signals that end a program on Unix.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn caught() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
        }
    }
}

/// The only signal that ends a program on other systems.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn caught() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> Exit {
        // Without a handler the system ends the program by itself.
        match tokio::signal::ctrl_c().await {
            Ok(()) => Exit::Interrupted,
            Err(_) => std::future::pending().await,
        }
    }
}
