//! Limits how many requests are in flight at a server, and when the next may start.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};

/// The limits that a user sets for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most requests in flight at once.
    pub concurrency: u32,
    /// Most requests started in a minute, evenly spaced; any number if none.
    pub per_minute: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { concurrency: 16, per_minute: None }
    }
}

/// Gives permission for requests to one server, in the order of the calls.
#[derive(Debug)]
pub(super) struct Limiter {
    places: Semaphore,
    /// Time between starts, given by the cap on requests a minute.
    spacing: Duration,
    /// Before this no attempt starts.
    next: Mutex<Option<Instant>>,
}

impl Limiter {
    pub(super) fn new(limits: Limits) -> Self {
        let spacing = limits.per_minute.map(|n| Duration::from_secs(60) / n.max(1));
        Self {
            places: Semaphore::new(limits.concurrency.max(1) as usize),
            spacing: spacing.unwrap_or_default(),
            next: Mutex::default(),
        }
    }

    /// Waits for a place, which a call keeps for all its attempts: one that
    /// waited long and failed does not wait as long again.
    pub(super) async fn place(&self) -> SemaphorePermit<'_> {
        self.places.acquire().await.expect("the semaphore is never closed")
    }

    /// Waits until an attempt may start.
    pub(super) async fn turn(&self) {
        while let Some(at) = self.start(Instant::now()) {
            tokio::time::sleep_until(at.into()).await;
        }
    }

    /// Starts an attempt, or says from when on it may start.
    fn start(&self, now: Instant) -> Option<Instant> {
        let mut next = self.next.lock().expect("no thread panics while it holds the lock");
        if next.is_some_and(|at| at > now) {
            return *next;
        }
        *next = Some(now + self.spacing);
        None
    }

    /// Lets no attempt start for as long as the server asks.
    pub(super) fn hold(&self, now: Instant, wait: Duration) {
        let mut next = self.next.lock().expect("no thread panics while it holds the lock");
        *next = (*next).max(Some(now + wait));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_wait_that_was_asked_for_holds_back_every_call() {
        let (limiter, now) = (Limiter::new(Limits::default()), Instant::now());
        let (short, long) = (Duration::from_secs(1), Duration::from_secs(5));
        assert_eq!([limiter.start(now), limiter.start(now)], [None, None]);
        limiter.hold(now, long);
        limiter.hold(now, short);
        assert_eq!(limiter.start(now + short), Some(now + long));
        assert_eq!(limiter.start(now + long), None);
    }

    #[test]
    fn requests_a_minute_are_evenly_spaced() {
        let limiter = Limiter::new(Limits { concurrency: 9, per_minute: Some(30) });
        let now = Instant::now();
        assert_eq!(limiter.start(now), None);
        assert_eq!(limiter.start(now), Some(now + Duration::from_secs(2)));
    }
}
