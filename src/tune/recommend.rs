//! Which setting is recommended.

use super::race::{Fate, Race};
use crate::model::TunedStatus;

/// The setting that is recommended, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recommended {
    /// The setting; `None` where none can be.
    pub setting: Option<usize>,
    /// The reason, in a sentence.
    pub because: String,
}

/// The author's setting.
const AUTHOR: usize = 0;

/// Recommends the cheapest setting of those that keep as much as the best, but
/// for one standard error of the difference, paired over clusters (the
/// one-standard-error rule of Breiman, Friedman, Olshen and Stone 1984,
/// "Classification and Regression Trees", 3.4.3). A setting that costs no less
/// than the author's and keeps no more is never recommended in its place.
///
/// Settings that were dropped, that failed, that wait too long, or that were not
/// replayed on as many sessions as the others do not take part.
pub fn recommend(race: &Race, seed: u64) -> Recommended {
    let most = race.done.iter().copied().max().unwrap_or(0);
    let clusters = &race.clusters[..most];
    let takes_part = |at: &usize| race.done[*at] == most && !race.waits(*at, most);
    let part: Vec<usize> = race.racing().into_iter().filter(takes_part).collect();
    let kept = |at: usize| {
        let pooled = race.figures.quality(at, clusters);
        (pooled.n() > 0).then(|| pooled.mean())
    };
    let usd = |at: usize| {
        let known = race.figures.dollars(at, clusters);
        if known.n() > 0 { known.mean() } else { f64::INFINITY }
    };
    // Of equal ones the first counts, which is the author's where it is among them.
    let best = part.iter().filter_map(|at| Some((*at, kept(*at)?)));
    let best = best.reduce(|best, one| if one.1 > best.1 { one } else { best });
    let Some((best, _)) = best else {
        return Recommended {
            setting: None,
            because: "no setting was replayed on a session with something at stake".to_owned(),
        };
    };
    let near = |at: &&usize| {
        let difference = race.figures.quality_estimate((best, **at), clusters, seed);
        difference.is_some_and(|d| d.mean >= -d.standard_error.unwrap_or(0.0))
    };
    let near: Vec<usize> = part.iter().filter(near).copied().collect();
    let cheaper = |a: usize, b: usize| if usd(b) < usd(a) { b } else { a };
    let cheapest = near.iter().copied().reduce(cheaper).unwrap_or(best);
    let improves = || {
        usd(cheapest) < usd(AUTHOR)
            || kept(cheapest).zip(kept(AUTHOR)).is_none_or(|(own, author)| own > author)
    };
    if cheapest != AUTHOR && part.contains(&AUTHOR) && !improves() {
        return Recommended {
            setting: Some(AUTHOR),
            because: "no setting that keeps about as much as the best costs less than the \
                      author's or keeps more"
                .to_owned(),
        };
    }
    let because = match (cheapest == AUTHOR, cheapest == best) {
        (true, true) => {
            "the author's setting keeps most, and nothing that keeps about as much \
                         is cheaper"
        }
        (true, false) => {
            "the author's setting is the cheapest of those that keep as much as the \
                          best, but for one standard error"
        }
        (false, true) => "it keeps most, and nothing that keeps about as much is cheaper",
        (false, false) => {
            "it is the cheapest of those that keep as much as the best, but for one \
                           standard error"
        }
    };
    Recommended { setting: Some(cheapest), because: because.to_owned() }
}

/// What became of a setting. Settings that are left are on the frontier unless
/// another one that is left keeps no less for no more dollars on the sessions
/// of both, and differs in one of them.
pub(super) fn status(race: &Race, at: usize) -> TunedStatus {
    match &race.fates[at] {
        Fate::Dropped { .. } => return TunedStatus::Dropped,
        Fate::Failed { .. } => return TunedStatus::Failed,
        Fate::Racing => {}
    }
    let done = race.done[at];
    if done == 0 {
        return TunedStatus::Unseen;
    }
    if race.waits(at, done) {
        return TunedStatus::TooSlow;
    }
    let beats = |other: usize| {
        let both = &race.clusters[..done.min(race.done[other])];
        let kept = race.figures.quality_difference((at, other), both);
        let usd = race.figures.dollars_difference((at, other), both);
        if kept.n() == 0 || usd.n() == 0 {
            return false;
        }
        let (kept, usd) = (kept.mean(), usd.mean());
        kept >= 0.0 && usd <= 0.0 && (kept > 0.0 || usd < 0.0)
    };
    let others = race.racing().into_iter();
    let mut others = others.filter(|other| *other != at && !race.waits(*other, race.done[*other]));
    if others.any(beats) { TunedStatus::Behind } else { TunedStatus::Frontier }
}

#[cfg(test)]
mod tests {
    use super::super::figures::testkit::{sessions, told};
    use super::super::race::{Next, Rule};
    use super::*;

    const RULE: Rule = Rule { margin: 0.02, false_drops: 0.05, max_wait: None, seed: 1 };

    /// A race over four sessions, which are too few to drop anything. `wide`
    /// adds to what a setting keeps in every second session, and takes it away
    /// in the others.
    fn race(settings: &[(f64, f64, f64)]) -> Race {
        let mut race = Race::new(settings.len(), sessions(4), RULE);
        while let Next::Work(work) = race.next(None) {
            let figures = work.settings.iter().flat_map(|at| {
                let (kept, wide, usd) = settings[*at];
                (work.from..work.to).map(move |session| {
                    let sign = if session % 2 == 0 { 1.0 } else { -1.0 };
                    (*at, told(session, kept + sign * wide, usd))
                })
            });
            let figures = figures.collect();
            race.close(work, figures);
        }
        race
    }

    fn recommended(settings: &[(f64, f64, f64)]) -> usize {
        recommend(&race(settings), 1).setting.unwrap()
    }

    #[test]
    fn the_cheapest_within_a_standard_error_of_the_best_is_recommended() {
        // The differences of 1 to the best are −1 ± 3: their standard error is
        // 3 · √(4 / 3) / √4 = 1.73, so −1 is within it.
        assert_eq!(recommended(&[(18.0, 0.0, 2.0), (17.0, 3.0, 1.0)]), 1);
        // −2 is not.
        assert_eq!(recommended(&[(18.0, 0.0, 2.0), (16.0, 3.0, 1.0)]), 0);
        assert_eq!(recommended(&[(18.0, 0.0, 2.0), (24.0, 0.0, 3.0)]), 1);
    }

    #[test]
    fn what_costs_no_less_and_keeps_no_more_than_the_authors_is_not_recommended() {
        assert_eq!(recommended(&[(18.0, 0.0, 2.0), (18.0, 0.0, 2.0)]), 0);
        // 2 is the best and dear; 1 is within its error, costs what the author's
        // does and keeps less.
        let settings = [(18.0, 0.0, 2.0), (17.0, 4.0, 2.0), (19.0, 0.0, 9.0)];
        assert_eq!(recommended(&settings), 0);
        // At a lower price it is.
        let settings = [(18.0, 0.0, 2.0), (17.0, 4.0, 1.9), (19.0, 0.0, 9.0)];
        assert_eq!(recommended(&settings), 1);
    }

    #[test]
    fn the_frontier_is_what_nothing_else_beats() {
        let race = race(&[(18.0, 0.0, 2.0), (17.0, 0.0, 3.0), (20.0, 0.0, 4.0), (18.0, 0.0, 2.0)]);
        let statuses: Vec<TunedStatus> = (0..4).map(|at| status(&race, at)).collect();
        use TunedStatus::{Behind, Frontier};
        assert_eq!(statuses, [Frontier, Behind, Frontier, Frontier]);
    }

    #[test]
    fn without_sessions_nothing_is_recommended() {
        let empty = Race::new(2, sessions(4), RULE);
        assert_eq!(recommend(&empty, 1).setting, None);
        assert_eq!(status(&empty, 0), TunedStatus::Unseen);
    }
}
