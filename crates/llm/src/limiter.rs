//! Limits how many requests are in flight at a server, and when the next may
//! start.
//!
//! The number adapts as TCP's window does (additive increase, multiplicative
//! decrease: D.-M. Chiu and R. Jain, "Analysis of the Increase and Decrease
//! Algorithms", 1989): a provider's limit is not known beforehand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

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

/// Whether the next request may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ready {
    Now,
    At(Instant),
    WhenOneEnds,
}

/// The adaptive rule, without the waiting.
#[derive(Debug)]
struct Rule {
    most: u32,
    limit: u32,
    under_way: u32,
    /// Successes since the limit last changed.
    successes: u32,
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
        let most = limits.concurrency.max(1);
        let fixed = limits.per_minute.map(|n| Duration::from_secs(60) / n.max(1));
        Self {
            most,
            limit: most,
            under_way: 0,
            successes: 0,
            cuts: 0,
            fixed: fixed.unwrap_or_default(),
            spacing: Duration::ZERO,
            last_start: None,
            held_until: None,
        }
    }

    fn ready(&self, now: Instant) -> Ready {
        if self.under_way >= self.limit {
            return Ready::WhenOneEnds;
        }
        let spaced = self.last_start.map(|last| last + self.fixed.max(self.spacing));
        match spaced.max(self.held_until) {
            Some(at) if at > now => Ready::At(at),
            _ => Ready::Now,
        }
    }

    /// Starts a request; returns the number of reductions so far, which is
    /// passed back when it ends.
    fn start(&mut self, now: Instant) -> u64 {
        self.under_way += 1;
        self.last_start = Some(now);
        self.cuts
    }

    fn end(&mut self, cuts: u64, ended: AttemptEnd, now: Instant) {
        self.under_way -= 1;
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
    queue: Mutex<Queue>,
}

#[derive(Debug)]
struct Queue {
    rule: Rule,
    next: u64,
    waiting: BTreeMap<u64, Arc<Notify>>,
}

impl Queue {
    fn wake_first(&self) {
        if let Some(first) = self.waiting.values().next() {
            first.notify_one();
        }
    }
}

/// A call's position in the queue. It keeps it for all its attempts, so that a
/// call that waited long and failed does not wait as long again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueuePosition(u64);

impl Limiter {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        let rule = Rule::new(limits);
        Arc::new(Self { queue: Mutex::new(Queue { rule, next: 0, waiting: BTreeMap::new() }) })
    }

    /// Assigns the next position in the queue.
    pub(super) fn place(&self) -> QueuePosition {
        let mut queue = self.queue();
        queue.next += 1;
        QueuePosition(queue.next)
    }

    /// Waits until the call at this position may start an attempt.
    pub(super) async fn turn(self: &Arc<Self>, place: QueuePosition) -> Permit {
        let waiting = Waiting::new(self, place);
        loop {
            match waiting.ask() {
                Ok(turn) => return turn,
                Err(Some(at)) => {
                    let _ = tokio::time::timeout_at(at.into(), waiting.woken.notified()).await;
                }
                Err(None) => waiting.woken.notified().await,
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no thread panics while it holds the lock")
    }
}

/// A call in the queue. When it leaves, with or without a permit, it wakes the next one.
struct Waiting<'a> {
    limiter: &'a Arc<Limiter>,
    place: QueuePosition,
    woken: Arc<Notify>,
}

impl<'a> Waiting<'a> {
    fn new(limiter: &'a Arc<Limiter>, place: QueuePosition) -> Self {
        let woken = Arc::new(Notify::new());
        limiter.queue().waiting.insert(place.0, Arc::clone(&woken));
        Self { limiter, place, woken }
    }

    /// A permit, or the time from which there may be one, if it is known.
    fn ask(&self) -> Result<Permit, Option<Instant>> {
        let mut queue = self.limiter.queue();
        if queue.waiting.keys().next() != Some(&self.place.0) {
            return Err(None);
        }
        let now = Instant::now();
        match queue.rule.ready(now) {
            Ready::Now => {
                let cuts = queue.rule.start(now);
                Ok(Permit { limiter: Arc::clone(self.limiter), cuts, ended: AttemptEnd::Otherwise })
            }
            Ready::At(at) => Err(Some(at)),
            Ready::WhenOneEnds => Err(None),
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut queue = self.limiter.queue();
        queue.waiting.remove(&self.place.0);
        queue.wake_first();
    }
}

/// Permission to make one attempt, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    limiter: Arc<Limiter>,
    cuts: u64,
    ended: AttemptEnd,
}

impl Permit {
    /// Returns the permit, with what the attempt showed about the server.
    pub(super) fn end(mut self, ended: AttemptEnd) {
        self.ended = ended;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut queue = self.limiter.queue();
        queue.rule.end(self.cuts, self.ended, Instant::now());
        queue.wake_first();
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
        let cuts = rule.start(now);
        rule.end(cuts, ended, now);
    }

    #[test]
    fn no_more_than_the_limit_are_under_way() {
        let (mut rule, now) = (rule(2), Instant::now());
        let cuts = rule.start(now);
        assert_eq!(rule.ready(now), Ready::Now);
        rule.start(now);
        assert_eq!(rule.ready(now), Ready::WhenOneEnds);
        rule.end(cuts, AttemptEnd::Otherwise, now);
        assert_eq!(rule.ready(now), Ready::Now);
    }

    #[test]
    fn a_burst_of_refusals_halves_the_limit_once() {
        let (mut rule, now) = (rule(16), Instant::now());
        let burst: Vec<u64> = (0..16).map(|_| rule.start(now)).collect();
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
        assert_eq!(rule.ready(now), Ready::At(now + Duration::from_secs(1)));
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
        let [one, two] = [rule.start(now), rule.start(now)];
        let (short, long) = (Duration::from_secs(1), Duration::from_secs(5));
        rule.end(one, AttemptEnd::Throttled(long), now);
        rule.end(two, AttemptEnd::Throttled(short), now);
        assert_eq!(rule.ready(now + short), Ready::At(now + long));
        assert_eq!(rule.ready(now + long), Ready::Now);
    }

    #[test]
    fn requests_a_minute_are_evenly_spaced() {
        let mut rule = Rule::new(Limits { concurrency: 9, per_minute: Some(30) });
        let now = Instant::now();
        rule.start(now);
        assert_eq!(rule.ready(now), Ready::At(now + Duration::from_secs(2)));
    }

    #[tokio::test]
    async fn turns_are_given_in_the_order_of_places() {
        let limiter = Limiter::new(Limits { concurrency: 1, per_minute: None });
        let [early, first, second] = [limiter.place(), limiter.place(), limiter.place()];
        let turn = limiter.turn(first).await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = [second, early]
            .map(|place| {
                let (limiter, order) = (Arc::clone(&limiter), Arc::clone(&order));
                tokio::spawn(async move {
                    let turn = limiter.turn(place).await;
                    order.lock().unwrap().push(place);
                    turn.end(AttemptEnd::Well);
                })
            })
            .into();
        tokio::task::yield_now().await;
        turn.end(AttemptEnd::Well);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [early, second]);
    }

    #[tokio::test]
    async fn dropped_waiter_wakes_next() {
        let limiter = Limiter::new(Limits { concurrency: 1, per_minute: None });
        let turn = limiter.turn(limiter.place()).await;
        let gone = {
            let (limiter, place) = (Arc::clone(&limiter), limiter.place());
            tokio::spawn(async move { limiter.turn(place).await })
        };
        let stays = {
            let (limiter, place) = (Arc::clone(&limiter), limiter.place());
            tokio::spawn(async move { limiter.turn(place).await })
        };
        tokio::task::yield_now().await;
        drop(turn);
        gone.abort();
        stays.await.unwrap().end(AttemptEnd::Well);
    }
}
