//! Which setting is recommended, and what became of each.

use super::figures::Figures;
use recap_core::model::{TunedHeldBack, TunedStatus};
use recap_core::text::counted;
use recap_core::wording::number;

/// The setting that is recommended, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recommended {
    /// The setting; `None` where none can be.
    pub setting: Option<usize>,
    /// The reason, in a sentence.
    pub because: String,
}

/// The author's setting.
pub const AUTHOR: usize = 0;

/// What was found on the sessions of the search.
#[derive(Clone, Debug)]
pub struct Searched {
    /// Number of settings.
    pub settings: usize,
    /// Their figures.
    pub figures: Figures,
    /// Largest 95th percentile of the waits, in seconds.
    pub max_wait: Option<f64>,
}

impl Searched {
    /// Whether a setting lets people wait longer than is allowed, as far as is
    /// known.
    fn waits(&self, setting: usize) -> bool {
        let Some(most) = self.max_wait else { return false };
        self.figures.wait_p95(setting).is_none_or(|wait| wait > most)
    }

    /// The settings that neither failed nor wait too long.
    fn usable(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.settings).filter(|at| self.figures.failure(*at).is_none() && !self.waits(*at))
    }

    /// What became of a setting. It is on the frontier unless another one keeps
    /// no less for no more dollars on the sessions of both, and differs in one
    /// of them.
    pub fn status(&self, at: usize) -> TunedStatus {
        if self.figures.failure(at).is_some() {
            return TunedStatus::Failed;
        }
        if self.figures.sessions(at) == 0 {
            return TunedStatus::Unseen;
        }
        if self.waits(at) {
            return TunedStatus::TooSlow;
        }
        let beats = |other: usize| {
            let kept = self.figures.quality_difference((at, other));
            let usd = self.figures.dollars_difference((at, other));
            if kept.n() == 0 || usd.n() == 0 {
                return false;
            }
            let (kept, usd) = (kept.mean(), usd.mean());
            kept >= 0.0 && usd <= 0.0 && (kept > 0.0 || usd < 0.0)
        };
        match self.usable().filter(|other| *other != at).any(beats) {
            true => TunedStatus::Behind,
            false => TunedStatus::Frontier,
        }
    }

    /// Recommends the cheapest setting of those that keep as much as the best, but
    /// for one standard error of the difference, paired over clusters (the
    /// one-standard-error rule of Breiman, Friedman, Olshen and Stone 1984,
    /// "Classification and Regression Trees", 3.4.3). A setting that costs no less
    /// than the author's and keeps no more is never recommended in its place.
    ///
    /// Settings that failed or wait too long do not take part.
    pub fn recommend(&self, seed: u64) -> Recommended {
        let part: Vec<usize> = self.usable().collect();
        let kept = |at: usize| {
            let pooled = self.figures.quality(at);
            (pooled.n() > 0).then(|| pooled.mean())
        };
        let usd = |at: usize| {
            let known = self.figures.dollars(at);
            if known.n() > 0 { known.mean() } else { f64::INFINITY }
        };
        // Of equal ones the first counts, which is the author's where it is among them.
        let best = part.iter().filter_map(|at| Some((*at, kept(*at)?)));
        let best = best.reduce(|best, one| if one.1 > best.1 { one } else { best });
        let Some((best, _)) = best else {
            return Recommended {
                setting: None,
                because: "no setting was replayed on a session with a fact that was needed"
                    .to_owned(),
            };
        };
        let near = |at: &&usize| {
            let difference = self.figures.quality_estimate((best, **at), seed);
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
                "the author's setting is the cheapest of those not clearly worse than the \
                              best (by one standard error)"
            }
            (false, true) => "it keeps most, and nothing that keeps about as much is cheaper",
            (false, false) => {
                "it is the cheapest of those that keep as much as the best, but for one \
                               standard error"
            }
        };
        Recommended { setting: Some(cheapest), because: because.to_owned() }
    }
}

impl Searched {
    /// What is recommended once held-back sessions are known: not a setting that
    /// keeps less there than the author's, or costs more and keeps no more.
    pub fn confirmed(&self, recommended: Recommended, held: &TunedHeldBack) -> Recommended {
        let kept = held.kept.as_ref();
        let less = kept.filter(|kept| kept.difference.mean < 0.0);
        let no_more = kept.is_none_or(|kept| kept.difference.mean <= 0.0);
        let dearer = held.usd.as_ref().filter(|usd| no_more && usd.difference.mean > 0.0);
        let worse = match (less, dearer) {
            (Some(kept), _) => {
                let [own, author] = [kept.found, kept.author].map(number::percent);
                format!("kept {own}, the author's {author}")
            }
            (None, Some(usd)) => {
                let [own, author] = [usd.found, usd.author].map(number::dollars);
                format!("kept no more and cost {own} each, the author's {author}")
            }
            (None, None) => return recommended,
        };
        Recommended {
            setting: self.usable().find(|at| *at == AUTHOR),
            because: format!(
                "on the {} setting {} {worse}",
                counted(held.sessions, "held-back session"),
                held.setting
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::Objective;
    use super::super::figures::testkit::{sessions, told};
    use super::super::held_back::held_back;
    use super::*;

    /// What is said of setting 1, which the search found, once four held-back
    /// sessions are known: facts of 30 and dollars of the author's and of 1.
    fn confirmed(author: (f64, f64), found: (f64, f64), max_wait: Option<f64>) -> Recommended {
        let mut searched = searched(&[(18.0, 0.0, 2.0), (24.0, 0.0, 1.0)]);
        let first = searched.recommend(1);
        assert_eq!(first.setting, Some(1));
        searched.max_wait = max_wait;
        let each = (0..4).flat_map(|at| {
            [(AUTHOR, told(at, author.0, author.1)), (1, told(at, found.0, found.1))]
        });
        let figures = Figures::new(&sessions(4), each.collect());
        searched.confirmed(first, &held_back(&figures, 1, Objective::Kept, 1))
    }

    #[test]
    fn setting_worse_on_held_back_sessions_is_rejected() {
        let less = confirmed((15.0, 2.0), (12.0, 1.0), None);
        let because = "on the 4 held-back sessions setting 1 kept 40 %, the author's 50 %";
        assert_eq!((less.setting, &*less.because), (Some(AUTHOR), because));
        let dearer = confirmed((15.0, 2.0), (15.0, 3.0), None);
        let because = "on the 4 held-back sessions setting 1 kept no more and cost $3.00 each, \
                       the author's $2.00";
        assert_eq!((dearer.setting, &*dearer.because), (Some(AUTHOR), because));
        // As much for less, and more for more.
        for found in [(15.0, 1.0), (15.0, 2.0), (18.0, 3.0)] {
            let kept = confirmed((15.0, 2.0), found, None);
            assert_eq!(kept.setting, Some(1), "{found:?}: {}", kept.because);
        }
        // The author's, which waits too long, is none to go back to.
        assert_eq!(confirmed((15.0, 2.0), (12.0, 1.0), Some(3.5)).setting, None);
    }

    /// Settings on four sessions: facts that are kept, what every second session
    /// has more and the others have less, and dollars.
    fn searched(settings: &[(f64, f64, f64)]) -> Searched {
        let told = settings.iter().enumerate().flat_map(|(at, (kept, wide, usd))| {
            (0..4).map(move |session| {
                let sign = if session % 2 == 0 { 1.0 } else { -1.0 };
                (at, told(session, kept + sign * wide, *usd))
            })
        });
        let figures = Figures::new(&sessions(4), told.collect());
        Searched { settings: settings.len(), figures, max_wait: None }
    }

    fn recommended(settings: &[(f64, f64, f64)]) -> usize {
        searched(settings).recommend(1).setting.unwrap()
    }

    #[test]
    fn cheapest_within_standard_error_of_best_is_recommended() {
        // The differences of 1 to the best are −1 ± 3: their standard error is
        // 3 · √(4 / 3) / √4 = 1.73, so −1 is within it.
        assert_eq!(recommended(&[(18.0, 0.0, 2.0), (17.0, 3.0, 1.0)]), 1);
        // −2 is not.
        assert_eq!(recommended(&[(18.0, 0.0, 2.0), (16.0, 3.0, 1.0)]), 0);
        assert_eq!(recommended(&[(18.0, 0.0, 2.0), (24.0, 0.0, 3.0)]), 1);
    }

    #[test]
    fn setting_no_better_than_authors_is_not_recommended() {
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
        let found =
            searched(&[(18.0, 0.0, 2.0), (17.0, 0.0, 3.0), (20.0, 0.0, 4.0), (18.0, 0.0, 2.0)]);
        let statuses: Vec<TunedStatus> = (0..4).map(|at| found.status(at)).collect();
        use TunedStatus::{Behind, Frontier};
        assert_eq!(statuses, [Frontier, Behind, Frontier, Frontier]);
    }

    #[test]
    fn without_figures_nothing_is_recommended() {
        let figures = Figures::new(&sessions(4), Vec::new());
        let empty = Searched { settings: 2, figures, max_wait: None };
        assert_eq!(empty.recommend(1).setting, None);
        assert_eq!(empty.status(0), TunedStatus::Unseen);
    }

    #[test]
    fn slow_or_failed_settings_are_excluded_from_recommendation() {
        let settings = [(12.0, 0.0, 3.0), (15.0, 0.0, 2.0)];
        let mut found = searched(&settings);
        // The sessions wait 1 to 4 seconds, so each setting has a p95 of 4.
        found.max_wait = Some(4.0);
        assert_eq!(
            (found.status(0), found.status(1)),
            (TunedStatus::Behind, TunedStatus::Frontier)
        );
        found.max_wait = Some(3.5);
        assert_eq!((found.status(0), found.recommend(1).setting), (TunedStatus::TooSlow, None));

        let mut broken = told(3, 1.0, 1.0);
        broken.failed.push("strategy bug".to_owned());
        let told = vec![(0, told(3, 12.0, 3.0)), (1, broken)];
        let figures = Figures::new(&sessions(4), told);
        let found = Searched { settings: 2, figures, max_wait: None };
        assert_eq!(found.figures.failure(1), Some("s3: strategy bug".to_owned()));
        assert_eq!(
            (found.status(0), found.status(1)),
            (TunedStatus::Frontier, TunedStatus::Failed)
        );
        assert_eq!(found.recommend(1).setting, Some(0));
    }
}
