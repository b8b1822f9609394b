//! The cap on what a run may spend on models.
//!
//! Each attempt first reserves the most that it can cost, so that the sum never
//! exceeds the cap, however many attempts are in flight.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

use crate::CallError;

/// Whole units in a dollar: a million millionths. Sums of whole numbers are
/// exact, so that what fits does not depend on the order of the calls.
const UNITS: f64 = 1e12;

/// The budget of a run, shared by all its models.
#[derive(Debug)]
pub struct Budget {
    cap: Option<u64>,
    ledger: Mutex<Ledger>,
    settled: Notify,
}

#[derive(Debug, Default)]
struct Ledger {
    spent: u64,
    reserved: u64,
    /// Attempts with a reservation.
    under_way: usize,
    /// Whether no further attempt begins.
    closed: bool,
    /// Holds what was spent at most, for a program that goes on after this one was stopped.
    file: Option<(File, PathBuf)>,
}

impl Ledger {
    /// Writes what was spent at most, the attempts under way included, in place: this takes
    /// no more room on the disk, so that it does not fail for lack of it.
    fn write(&mut self) -> io::Result<()> {
        let most = usd(self.spent.saturating_add(self.reserved));
        let Some((file, _)) = &mut self.file else { return Ok(()) };
        file.rewind()?;
        file.write_all(format!("{most:>24.12}\n").as_bytes())
    }

    /// The error for an attempt whose cost an interrupted run could not tell.
    fn not_kept(&self, why: &io::Error) -> CallError {
        let path = self.file.iter().map(|(_, path)| path.display().to_string()).collect::<String>();
        CallError::Halted(format!(
            "{path} cannot hold what is spent ({why}), so that no further call is made"
        ))
    }
}

/// The error for a call that does not fit into the budget.
fn over_budget(amounts: [u64; 3]) -> CallError {
    let [spent, cap, worst] = amounts.map(usd);
    // Rounded up, so that what is advised is enough.
    let enough = ((spent + worst) * 1e4).ceil() / 1e4;
    let why = match amounts[0] {
        0 => format!(
            "nothing was spent: the next call could cost up to ${worst:.4}, more than the cap of \
             ${cap:.4}"
        ),
        _ => format!(
            "the budget is used up: ${spent:.4} of ${cap:.4} are spent, and the next call could \
             cost up to ${worst:.4}"
        ),
    };
    CallError::OverBudget(format!(
        "{why}; raise --max-cost to ${enough:.4} or more, or name a cheaper model (--dry-run \
         tells what the whole run would cost)"
    ))
}

impl Budget {
    /// A budget of `cap` USD; unlimited if `None`.
    pub fn new(cap: Option<f64>) -> Arc<Self> {
        // The cap is rounded down and costs are rounded up, so that the sum
        // never exceeds the cap.
        let cap = cap.map(|usd| (usd * UNITS).floor() as u64);
        Arc::new(Self { cap, ledger: Mutex::default(), settled: Notify::new() })
    }

    /// Whether there is a cap.
    pub fn is_capped(&self) -> bool {
        self.cap.is_some()
    }

    /// The cost of the attempts so far, in USD: by their usage where it was
    /// reported, and at worst where it was not although it may be billed.
    /// Models without a price cost nothing.
    pub fn spent_usd(&self) -> f64 {
        usd(self.ledger().spent)
    }

    /// Counts what an earlier program had spent at most on the run that this one resumes, by
    /// its file and `known` at least, and keeps the file from here on.
    ///
    /// # Errors
    /// If the file cannot be read or written, or holds something else.
    pub fn keep(&self, path: &Path, known: f64) -> io::Result<()> {
        let mut options = File::options();
        let mut file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        let mut kept = String::new();
        file.read_to_string(&mut kept)?;
        let kept = match kept.trim() {
            // A program that was killed before it had spent anything.
            "" => 0.0,
            text => {
                text.parse().ok().filter(|usd: &f64| usd.is_finite() && *usd >= 0.0).ok_or_else(
                    || io::Error::new(io::ErrorKind::InvalidData, "it holds no amount of dollars"),
                )?
            }
        };
        let mut ledger = self.ledger();
        ledger.spent = ledger.spent.saturating_add(units(kept.max(known)));
        ledger.file = Some((file, path.to_owned()));
        ledger.write()
    }

    /// Lets no further attempt begin: those that are about to wait for ever. Returns how many
    /// are under way.
    pub fn close(&self) -> usize {
        let mut ledger = self.ledger();
        ledger.closed = true;
        ledger.under_way
    }

    /// Waits until no attempt is under way.
    pub async fn settled(&self) {
        self.until(|| (self.ledger().under_way == 0).then_some(())).await;
    }

    /// Reserves `worst` USD. Waits as long as attempts in flight may still
    /// release enough.
    pub(super) async fn reserve(self: &Arc<Self>, worst: f64) -> Result<Reserved, CallError> {
        let worst = units(worst);
        self.until(|| self.try_reserve(worst).transpose()).await
    }

    /// Waits until something is there, which may be after each settlement.
    async fn until<T>(&self, look: impl Fn() -> Option<T>) -> T {
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            // From here on no settlement is missed.
            settled.as_mut().enable();
            if let Some(found) = look() {
                return found;
            }
            settled.await;
        }
    }

    /// Reserves the amount; `None` if it may fit once attempts in flight have ended, and if none
    /// may begin.
    fn try_reserve(self: &Arc<Self>, worst: u64) -> Result<Option<Reserved>, CallError> {
        let mut ledger = self.ledger();
        if ledger.closed {
            return Ok(None);
        }
        let before = ledger.reserved;
        if let Some(cap) = self.cap {
            let spent = ledger.spent;
            if spent.saturating_add(worst) > cap {
                return Err(over_budget([spent, cap, worst]));
            }
            if spent.saturating_add(before).saturating_add(worst) > cap {
                return Ok(None);
            }
        }
        ledger.reserved = before.saturating_add(worst);
        if let Err(why) = ledger.write() {
            ledger.reserved = before;
            return Err(ledger.not_kept(&why));
        }
        ledger.under_way += 1;
        Ok(Some(Reserved { budget: Arc::clone(self), worst, cost: None }))
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("no thread panics while it holds the lock")
    }
}

/// Money reserved for one attempt. If it is dropped without
/// [`Reserved::settle`], it counts as spent: an abandoned attempt may have been
/// billed.
#[derive(Debug)]
#[must_use = "dropped at once, it is spent"]
pub(super) struct Reserved {
    budget: Arc<Budget>,
    worst: u64,
    cost: Option<u64>,
}

impl Reserved {
    /// Records what the attempt cost, in USD, and releases the rest.
    pub(super) fn settle(mut self, usd: f64) {
        self.cost = Some(units(usd));
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut ledger = self.budget.ledger();
        ledger.reserved = ledger.reserved.saturating_sub(self.worst);
        ledger.spent = ledger.spent.saturating_add(self.cost.unwrap_or(self.worst));
        ledger.under_way -= 1;
        // Where this fails, the file holds more, and the next reservation fails too.
        let _ = ledger.write();
        drop(ledger);
        self.budget.settled.notify_waiters();
    }
}

#[cfg(test)]
impl Budget {
    /// One whose file cannot be written.
    pub(super) fn unwritable(path: &Path) -> Arc<Self> {
        std::fs::write(path, "0\n").unwrap();
        let budget = Self::new(None);
        budget.ledger().file = Some((File::open(path).unwrap(), path.to_owned()));
        budget
    }
}

fn units(usd: f64) -> u64 {
    (usd * UNITS).ceil() as u64
}

fn usd(units: u64) -> f64 {
    units as f64 / UNITS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn now(budget: &Arc<Budget>, usd: f64) -> Result<Option<Reserved>, String> {
        budget.try_reserve(units(usd)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_call_waits_while_others_may_leave_enough() {
        let budget = Budget::new(Some(1.0));
        let first = now(&budget, 0.6).unwrap().unwrap();
        // 0.6 may be spent, or not: 0.5 more depends on it.
        assert!(now(&budget, 0.5).unwrap().is_none());
        first.settle(0.4);
        let second = now(&budget, 0.5).unwrap().unwrap();
        second.settle(0.5);
        assert!((budget.spent_usd() - 0.9).abs() < 1e-9);
        let error = now(&budget, 0.2).unwrap_err();
        assert_eq!(
            error,
            "the budget is used up: $0.9000 of $1.0000 are spent, and the next call could cost up \
             to $0.2000; raise --max-cost to $1.1000 or more, or name a cheaper model (--dry-run \
             tells what the whole run would cost)"
        );
        assert!(now(&budget, 0.1).unwrap().is_some());
    }

    #[test]
    fn unspent_budget_error_names_the_next_call_cost() {
        let budget = Budget::new(Some(0.1));
        let error = now(&budget, 0.25).unwrap_err();
        assert_eq!(
            error,
            "nothing was spent: the next call could cost up to $0.2500, more than the cap of \
             $0.1000; raise --max-cost to $0.2500 or more, or name a cheaper model (--dry-run \
             tells what the whole run would cost)"
        );
    }

    #[test]
    fn what_is_dropped_without_a_word_is_spent() {
        let budget = Budget::new(Some(1.0));
        drop(now(&budget, 0.75).unwrap().unwrap());
        assert_eq!(budget.spent_usd(), 0.75);
    }

    /// The first program settles one attempt, gives one up, and is killed during a third.
    #[test]
    fn cap_counts_what_killed_programs_may_have_spent() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("spent");
        let first = Budget::new(Some(1.0));
        first.keep(&path, 0.0).unwrap();
        now(&first, 0.25).unwrap().unwrap().settle(0.125);
        drop(now(&first, 0.125).unwrap().unwrap());
        std::mem::forget(now(&first, 0.5).unwrap().unwrap());
        for (known, spent) in [(0.0, 0.75), (0.875, 0.875), (0.5, 0.875)] {
            let next = Budget::new(Some(1.0));
            next.keep(&path, known).unwrap();
            assert_eq!(next.spent_usd(), spent);
            assert!(now(&next, 0.5).is_err());
        }
        for broken in ["a lot", "-1", "NaN", "inf"] {
            std::fs::write(&path, broken).unwrap();
            let error = Budget::new(Some(1.0)).keep(&path, 0.0).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{broken}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), broken, "it stays as it was");
        }
    }

    #[test]
    fn nothing_is_reserved_that_cannot_be_kept() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("spent.txt");
        let budget = Budget::unwritable(&path);
        for _ in 0..2 {
            let error = now(&budget, 0.25).unwrap_err();
            assert!(error.contains("spent.txt cannot hold what is spent ("), "{error}");
        }
        let ledger = budget.ledger();
        assert_eq!((ledger.reserved, ledger.spent, ledger.under_way), (0, 0, 0));
    }

    #[test]
    fn without_a_cap_everything_fits_and_is_counted() {
        let budget = Budget::new(None);
        assert!(!budget.is_capped());
        now(&budget, 1e9).unwrap().unwrap().settle(2.5);
        assert_eq!(budget.spent_usd(), 2.5);
    }

    #[tokio::test]
    async fn a_settlement_wakes_who_waits() {
        let budget = Budget::new(Some(1.0));
        let first = budget.reserve(1.0).await.unwrap();
        let waiting = Arc::clone(&budget);
        let second = tokio::spawn(async move { waiting.reserve(1.0).await.map(|r| r.settle(1.0)) });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        first.settle(0.0);
        second.await.unwrap().unwrap();
        assert!(budget.reserve(0.1).await.is_err());
    }

    proptest! {
        /// Each step starts an attempt or ends the one that its place names.
        #[test]
        fn no_interleaving_spends_more_than_the_cap(
            cap in 0.0..2.0_f64,
            steps in prop::collection::vec((any::<bool>(), 0..8_usize, 0.0..0.7_f64, 0.0..=1.0_f64), 1..200),
        ) {
            let budget = Budget::new(Some(cap));
            let mut under_way: Vec<(Reserved, f64)> = Vec::new();
            let mut paid = 0.0;
            for (starts, place, worst, share) in steps {
                if starts {
                    if let Ok(Some(reserved)) = now(&budget, worst) {
                        under_way.push((reserved, worst * share));
                    }
                } else if place < under_way.len() {
                    let (reserved, cost) = under_way.swap_remove(place);
                    reserved.settle(cost);
                    paid += cost;
                }
                let spent = budget.spent_usd();
                prop_assert!(spent <= cap, "{spent} of {cap}");
                // Nothing is lost: rounding is below a millionth of a cent.
                prop_assert!((spent - paid).abs() < 1e-8, "{spent}, paid {paid}");
            }
            drop(under_way);
            prop_assert!(budget.spent_usd() <= cap);
        }
    }
}
