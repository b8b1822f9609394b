//! Limits how many requests are in flight at a server, and when the next may
//! start.
//!
//! The number adapts as TCP's window does (additive increase, multiplicative
//! decrease: D.-M. Chiu and R. Jain, "Analysis of the Increase and Decrease
//! Algorithms", 1989): a provider's limit is not known beforehand.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The spacing between starts after the first refusal of a lone request.
const SPACING: Duration = Duration::from_millis(250);

/// The longest spacing: one minute, the period for which providers count.
const LONGEST_SPACING: Duration = Duration::from_secs(60);

/// Share of the spacing that each success removes.
const DECAY: f64 = 0.1;

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

/// How an attempt ended, as far as the server's limits are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptEnd {
    /// The server answered the request.
    Well,
    /// The server is overloaded; it asks for a pause of this length.
    Throttled(Duration),
    /// The end of the attempt says nothing about the limits.
    Otherwise,
}

/// The adaptive rule, without the waiting.
#[derive(Debug)]
struct Rule {
    most: usize,
    limit: usize,
    /// Permits of the semaphore, given away or not.
    permits: usize,
    /// Successes since the limit last changed.
    successes: usize,
    /// Reductions so far. A request that started before the last one causes no
    /// further reduction.
    cuts: u64,
    /// Time between starts, given by the cap on requests a minute.
    fixed: Duration,
    /// Time between starts, grown by refusals.
    spacing: Duration,
    last_start: Option<Instant>,
    held_until: Option<Instant>,
}

impl Rule {
    fn new(limits: Limits) -> Self {
        let most = limits.concurrency.max(1) as usize;
        let fixed = limits.per_minute.map(|n| Duration::from_secs(60) / n.max(1));
        Self {
            most,
            limit: most,
            permits: most,
            successes: 0,
            cuts: 0,
            fixed: fixed.unwrap_or_default(),
            spacing: Duration::ZERO,
            last_start: None,
            held_until: None,
        }
    }

    /// Starts a request, and returns the number of reductions so far, which is
    /// passed back when it ends; or the time from which it may start.
    fn start(&mut self, now: Instant) -> Result<u64, Instant> {
        let spaced = self.last_start.map(|last| last + self.fixed.max(self.spacing));
        match spaced.max(self.held_until) {
            Some(at) if at > now => Err(at),
            _ => {
                self.last_start = Some(now);
                Ok(self.cuts)
            }
        }
    }

    fn end(&mut self, cuts: u64, ended: AttemptEnd, now: Instant) {
        match ended {
            AttemptEnd::Well => self.raise(),
            AttemptEnd::Throttled(wait) => {
                self.held_until = self.held_until.max(Some(now + wait));
                if cuts == self.cuts {
                    self.cut();
                }
            }
            AttemptEnd::Otherwise => {}
        }
    }

    fn raise(&mut self) {
        self.spacing = self.spacing.mul_f64(1.0 - DECAY);
        if self.spacing < SPACING / 2 {
            self.spacing = Duration::ZERO;
        }
        self.successes += 1;
        if self.successes >= self.limit {
            self.successes = 0;
            self.limit = (self.limit + 1).min(self.most);
        }
    }

    fn cut(&mut self) {
        self.cuts += 1;
        self.successes = 0;
        if self.limit > 1 {
            self.limit /= 2;
        } else {
            self.spacing = (self.spacing * 2).clamp(SPACING, LONGEST_SPACING);
        }
    }
}

/// Gives permission for requests to one server, in the order of the calls.
#[derive(Debug)]
pub(super) struct Limiter {
    /// The semaphore has as many permits as the rule allows: those that it has too
    /// many of are taken back as calls end.
    places: Arc<Semaphore>,
    rule: Mutex<Rule>,
}

impl Limiter {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        let rule = Rule::new(limits);
        let places = Arc::new(Semaphore::new(rule.permits));
        Arc::new(Self { places, rule: Mutex::new(rule) })
    }

    /// Waits for a place, which a call keeps for all its attempts: one that
    /// waited long and failed does not wait as long again.
    pub(super) async fn place(self: &Arc<Self>) -> Place {
        let permit = Arc::clone(&self.places).acquire_owned().await;
        let permit = permit.expect("the semaphore is never closed");
        Place { limiter: Arc::clone(self), permit: Some(permit) }
    }

    fn rule(&self) -> MutexGuard<'_, Rule> {
        self.rule.lock().expect("no thread panics while it holds the lock")
    }
}

/// The place of a call among those that are under way.
#[derive(Debug)]
pub(super) struct Place {
    limiter: Arc<Limiter>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Place {
    /// Waits until an attempt may start; the result is passed back when it ends.
    pub(super) async fn start(&self) -> u64 {
        loop {
            let started = self.limiter.rule().start(Instant::now());
            match started {
                Ok(cuts) => return cuts,
                Err(at) => tokio::time::sleep_until(at.into()).await,
            }
        }
    }

    /// Takes over what an attempt showed about the server.
    pub(super) fn end(&self, cuts: u64, ended: AttemptEnd) {
        let mut rule = self.limiter.rule();
        rule.end(cuts, ended, Instant::now());
        let more = rule.limit.saturating_sub(rule.permits);
        rule.permits += more;
        self.limiter.places.add_permits(more);
        let fewer = rule.permits.saturating_sub(rule.limit);
        rule.permits -= self.limiter.places.forget_permits(fewer);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut rule = self.limiter.rule();
        if rule.permits > rule.limit
            && let Some(permit) = self.permit.take()
        {
            permit.forget();
            rule.permits -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_WAIT: AttemptEnd = AttemptEnd::Throttled(Duration::ZERO);

    fn rule(concurrency: u32) -> Rule {
        Rule::new(Limits { concurrency, per_minute: None })
    }

    /// Starts and ends one at a time of day.
    fn one(rule: &mut Rule, ended: AttemptEnd, now: Instant) {
        rule.end(rule.cuts, ended, now);
    }

    #[test]
    fn a_burst_of_refusals_halves_the_limit_once() {
        let (mut rule, now) = (rule(16), Instant::now());
        let burst: Vec<u64> = (0..16).map(|_| rule.start(now).unwrap()).collect();
        for cuts in burst {
            rule.end(cuts, NO_WAIT, now);
        }
        assert_eq!(rule.limit, 8);
        one(&mut rule, NO_WAIT, now);
        assert_eq!(rule.limit, 4);
    }

    #[test]
    fn limit_rises_by_one_after_that_many_successes() {
        let (mut rule, now) = (rule(4), Instant::now());
        one(&mut rule, NO_WAIT, now);
        assert_eq!(rule.limit, 2);
        for (successes, limit) in [(2, 3), (3, 4), (40, 4)] {
            for _ in 0..successes {
                one(&mut rule, AttemptEnd::Well, now);
            }
            assert_eq!(rule.limit, limit, "after {successes}");
        }
    }

    #[test]
    fn lone_refusal_doubles_spacing_and_successes_reduce_it() {
        let (mut rule, now) = (rule(1), Instant::now());
        for expected in [250, 500, 1_000] {
            one(&mut rule, NO_WAIT, now);
            assert_eq!(rule.spacing, Duration::from_millis(expected));
        }
        rule.start(now).unwrap();
        assert_eq!(rule.start(now), Err(now + Duration::from_secs(1)));
        one(&mut rule, AttemptEnd::Well, now);
        assert_eq!(rule.spacing, Duration::from_millis(900));
        for _ in 0..20 {
            one(&mut rule, AttemptEnd::Well, now);
        }
        assert_eq!(rule.spacing, Duration::ZERO);
        for _ in 0..20 {
            one(&mut rule, NO_WAIT, now);
        }
        assert_eq!(rule.spacing, LONGEST_SPACING);
    }

    #[test]
    fn longest_throttle_holds_back_every_call() {
        let (mut rule, now) = (rule(4), Instant::now());
        let [one, two] = [(); 2].map(|()| rule.start(now).unwrap());
        let (short, long) = (Duration::from_secs(1), Duration::from_secs(5));
        rule.end(one, AttemptEnd::Throttled(long), now);
        rule.end(two, AttemptEnd::Throttled(short), now);
        assert_eq!(rule.start(now + short), Err(now + long));
        assert!(rule.start(now + long).is_ok());
    }

    #[test]
    fn requests_a_minute_are_evenly_spaced() {
        let mut rule = Rule::new(Limits { concurrency: 9, per_minute: Some(30) });
        let now = Instant::now();
        rule.start(now).unwrap();
        assert_eq!(rule.start(now), Err(now + Duration::from_secs(2)));
    }

    #[tokio::test]
    async fn no_more_than_the_limit_are_under_way() {
        let limiter = Limiter::new(Limits { concurrency: 4, per_minute: None });
        let free = || limiter.places.available_permits();
        let [one, two, _three] =
            [limiter.place().await, limiter.place().await, limiter.place().await];
        assert_eq!(free(), 1);
        let cuts = one.start().await;
        one.end(cuts, NO_WAIT);
        // Two are allowed, and three are under way: the place that ends next is gone.
        assert_eq!(free(), 0);
        drop(one);
        assert_eq!(free(), 0);
        two.end(two.start().await, AttemptEnd::Well);
        drop(two);
        assert_eq!(free(), 1);
    }

    #[tokio::test]
    async fn places_are_given_in_the_order_of_calls() {
        let limiter = Limiter::new(Limits { concurrency: 1, per_minute: None });
        let place = limiter.place().await;
        let mut waiting = futures_util::stream::FuturesOrdered::new();
        for number in 0..3 {
            let limiter = Arc::clone(&limiter);
            waiting.push_back(tokio::spawn(async move { (number, limiter.place().await) }));
            tokio::task::yield_now().await;
        }
        drop(place);
        for expected in 0..3 {
            let next = futures_util::StreamExt::next(&mut waiting).await.unwrap().unwrap();
            assert_eq!(next.0, expected);
        }
    }
}
