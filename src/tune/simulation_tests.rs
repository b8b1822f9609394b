//! Simulates how often the race drops a setting that is not dominated, with
//! known true values.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::figures::testkit::{sessions, told};
use super::race::{Next, Race, Rule};

/// True share that is kept, and true dollars of a session.
type Truth = (f64, f64);

/// How figures of a session differ from the truth.
#[derive(Clone, Copy)]
enum Noise {
    /// The sum of several uniform numbers: nearly normal.
    Normal,
    /// Mostly nothing, and sometimes much: most sessions never compact.
    Rare,
    /// The square of a uniform number: skewed to one side.
    Skewed,
}

impl Noise {
    /// A number of mean 0 and about the same spread for every kind.
    fn draw(self, rng: &mut ChaCha8Rng) -> f64 {
        let mut uniform = || rng.random::<f64>();
        match self {
            Noise::Normal => (0..6).map(|_| uniform() - 0.5).sum::<f64>(),
            Noise::Rare if uniform() < 0.7 => 0.0,
            Noise::Rare => 4.0 * (uniform() - 0.5),
            Noise::Skewed => 2.4 * (uniform().powi(2) - 1.0 / 3.0),
        }
    }
}

/// What a session has in common for all settings, and what is its own for each:
/// of what is kept, and of dollars.
type Drawn = (f64, f64, Vec<(f64, f64)>);

/// One race to its end. Returns the settings that are left.
fn race(truths: &[Truth], noise: Noise, clusters: usize, rule: Rule, seed: u64) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let drawn: Vec<Drawn> = (0..clusters)
        .map(|_| {
            let own = truths.iter().map(|_| (noise.draw(&mut rng), noise.draw(&mut rng)));
            let own = own.collect();
            (noise.draw(&mut rng), noise.draw(&mut rng), own)
        })
        .collect();
    let mut race = Race::new(truths.len(), sessions(clusters), rule);
    while let Next::Work(work) = race.next(None) {
        let figures = work.settings.iter().flat_map(|at| {
            let drawn = &drawn;
            (work.from..work.to).map(move |session| {
                let (common_kept, common_usd, own) = &drawn[session];
                let kept = truths[*at].0 + 0.1 * common_kept + 0.03 * own[*at].0;
                let usd = truths[*at].1 * (1.0 + 0.2 * common_usd + 0.1 * own[*at].1);
                (*at, told(session, 30.0 * kept, usd))
            })
        });
        let figures = figures.collect();
        race.close(work, figures);
    }
    race.racing()
}

/// Whether b dominates a in truth, within the margin.
fn dominates(b: Truth, a: Truth, margin: f64) -> bool {
    let within = b.0 >= a.0 - margin && b.1 <= a.1 * (1.0 + margin);
    within && (b.0 > a.0 || b.1 < a.1)
}

/// The share of races in which a setting is dropped that is not dominated, and
/// the share of dominated settings that are dropped.
fn simulated(truths: &[Truth], noise: Noise, rule: Rule, races: u64) -> (f64, f64) {
    let is_dominated: Vec<bool> =
        truths.iter().map(|a| truths.iter().any(|b| dominates(*b, *a, rule.margin))).collect();
    let dominated = is_dominated.iter().filter(|is| **is).count() as f64;
    let (mut wrong, mut right) = (0.0, 0.0);
    for seed in 0..races {
        let left = race(truths, noise, 11, rule, seed);
        let dropped = |at: &usize| !left.contains(at);
        let (bad, good): (Vec<usize>, Vec<usize>) =
            (0..truths.len()).filter(dropped).partition(|at| !is_dominated[*at]);
        wrong += if bad.is_empty() { 0.0 } else { 1.0 };
        right += good.len() as f64;
    }
    (wrong / races as f64, right / (dominated * races as f64).max(1.0))
}

const RULE: Rule = Rule { margin: 0.02, false_drops: 0.1, max_wait: None, seed: 1 };
const RACES: u64 = 200;

/// Settings with the same true values: whatever is dropped, or all but one of
/// those that differ by chance, is dropped falsely. The margin is 0, since
/// within a margin settings that are equal dominate none.
#[test]
fn settings_that_are_equal_are_dropped_in_no_more_races_than_allowed() {
    let equal = [(0.6, 1.0); 4];
    for noise in [Noise::Normal, Noise::Rare, Noise::Skewed] {
        for margin in [0.0, 0.02] {
            let (wrong, _) = simulated(&equal, noise, Rule { margin, ..RULE }, RACES);
            assert!(wrong <= RULE.false_drops, "{wrong}");
        }
    }
}

/// Each keeps more than the last by a little over the margin, and costs a little
/// more: all are on the frontier.
#[test]
fn a_frontier_loses_a_setting_in_no_more_races_than_allowed() {
    let frontier = [(0.50, 1.00), (0.525, 1.03), (0.55, 1.06), (0.575, 1.09)];
    for noise in [Noise::Normal, Noise::Rare, Noise::Skewed] {
        let (wrong, _) = simulated(&frontier, noise, RULE, RACES);
        assert!(wrong <= RULE.false_drops, "{wrong}");
    }
}

/// The best setting and one that is cheaper stay; two that are worse in both go
/// in most races.
#[test]
fn what_is_clearly_dominated_is_dropped_and_the_best_stays() {
    let mixed = [(0.60, 1.0), (0.45, 1.5), (0.50, 0.6), (0.30, 1.4)];
    let (wrong, right) = simulated(&mixed, Noise::Normal, RULE, RACES);
    assert!(wrong <= RULE.false_drops, "{wrong}");
    assert!(right > 0.9, "{right}");
}
