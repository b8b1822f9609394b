//! The composition root: seats, clock and terminal come together here.

use std::io::IsTerminal;
use std::sync::Arc;

use jiff::Timestamp;

use super::exit::Failure;
use crate::run::Seats;
use crate::seats::compactor::Offline;
use crate::tokens::Counter;

/// Columns assumed where the output is no terminal.
const DEFAULT_WIDTH: usize = 100;

/// Who sits where: the embedded offline models.
pub(super) fn seats(counter: &Arc<Counter>) -> Seats {
    Seats { compactor: Arc::new(Offline::new(Arc::clone(counter))), offline: true }
}

/// The time of day, for the names of run folders only.
pub(super) fn now() -> Timestamp {
    Timestamp::now()
}

/// Cores that may be used.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A runtime with as many workers as cells run at a time.
pub(super) fn runtime(jobs: usize) -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(jobs.max(1))
        .enable_all()
        .build()
        .map_err(|e| Failure::usage(format!("cannot start worker threads: {e}")))
}

/// Whether standard output takes colour.
pub(super) fn color() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Columns of the terminal.
pub(super) fn width() -> usize {
    if !std::io::stdout().is_terminal() {
        return DEFAULT_WIDTH;
    }
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    columns.unwrap_or(DEFAULT_WIDTH)
}
