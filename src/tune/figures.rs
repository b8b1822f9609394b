//! What is known of each setting on each session.

use std::collections::{BTreeMap, BTreeSet};

use super::split::{Cluster, SessionKey};
use recap_core::model::catalogue;
use recap_measure::{
    Clusters, Owner, PooledUnit, SessionFigures, WeightedMean, estimate, groups, pooled,
};

/// The share of waits below the figure that is told.
const WAITS_WITHIN: f64 = 0.95;

/// What is to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Facts at cuts.
    Kept,
    /// Answers to questions at cuts.
    Continuity,
}

impl Objective {
    /// The id of the measure.
    pub fn measure(self) -> &'static str {
        match self {
            Objective::Kept => catalogue::FACTS_KEPT.id,
            Objective::Continuity => catalogue::CONTINUITY_AT_CUT.id,
        }
    }

    /// The largest value of the measure.
    pub fn most(self) -> f64 {
        match self {
            Objective::Kept => 1.0,
            Objective::Continuity => 100.0,
        }
    }

    /// What is kept, in words.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Objective::Kept => "facts kept",
            Objective::Continuity => "answers facts kept",
        }
    }
}

/// The figures of settings on one part of the sessions.
#[derive(Clone, Debug)]
pub struct Figures {
    clusters: Vec<Cluster>,
    known: BTreeMap<(usize, SessionKey), SessionFigures>,
    /// Sessions where a price that some setting needs is unknown. They tell
    /// nothing of dollars: those of the other settings would be a mean over
    /// other sessions.
    unpriced: BTreeSet<SessionKey>,
}

/// The figures of a setting at one session.
type Unit<'a> = (Option<Owner<'a>>, &'a SessionFigures);

impl Figures {
    /// What the sessions of these clusters tell of settings, by their numbers.
    pub fn new(clusters: &[Cluster], told: Vec<(usize, SessionFigures)>) -> Self {
        let mut figures = Figures {
            clusters: clusters.to_vec(),
            known: BTreeMap::new(),
            unpriced: BTreeSet::new(),
        };
        for (setting, told) in told {
            let session = (told.dataset.clone(), told.session.clone());
            if told.usd.is_none() && told.failed.is_empty() {
                figures.unpriced.insert(session.clone());
            }
            figures.known.insert((setting, session), told);
        }
        figures
    }

    /// Why a cell or a cut of a setting failed; the first reason.
    pub fn failure(&self, setting: usize) -> Option<String> {
        let own = self.known.iter().filter(|((of, _), _)| *of == setting);
        let mut reasons = own.filter_map(|(_, told)| Some((&told.session, told.failed.first()?)));
        reasons.next().map(|(session, why)| format!("{session}: {why}"))
    }

    /// The sessions that tell of a setting.
    fn units<'a>(&'a self, setting: usize) -> Vec<Unit<'a>> {
        let each = self.clusters.iter().flat_map(|cluster| {
            cluster.sessions.iter().map(move |session| (cluster.project.as_deref(), session))
        });
        let unit = |(project, session): (Option<&'a str>, &'a SessionKey)| {
            let figures = self.known.get(&(setting, session.clone()))?;
            Some((project.map(|name| (session.0.as_str(), name)), figures))
        };
        each.filter_map(unit).collect()
    }

    /// The sessions that tell of both settings.
    fn pairs<'a>(&'a self, (a, b): (usize, usize)) -> Vec<(Unit<'a>, Unit<'a>)> {
        let (a, b) = (self.units(a), self.units(b));
        let place = |unit: &Unit<'a>| (&unit.1.dataset, &unit.1.session);
        let other = |unit: &Unit<'a>| b.iter().find(|other| place(other) == place(unit)).copied();
        a.iter().filter_map(|unit| Some((*unit, other(unit)?))).collect()
    }

    /// What a setting keeps, weighed by the facts of each cluster.
    pub fn quality(&self, setting: usize) -> Clusters {
        let units = self.units(setting).into_iter();
        pooled(&units.filter_map(|unit| share(&unit)).collect::<Vec<_>>())
    }

    /// What b keeps minus what a keeps.
    pub fn quality_difference(&self, pair: (usize, usize)) -> Clusters {
        let pairs = self.pairs(pair).into_iter().filter_map(|(a, b)| {
            let (a, b) = (share(&a)?, share(&b)?);
            Some(PooledUnit { share: b.share - a.share, ..a })
        });
        pooled(&pairs.collect::<Vec<_>>())
    }

    /// Dollars of each session, by cluster.
    pub fn dollars(&self, setting: usize) -> Clusters {
        let units = self.units(setting).into_iter();
        Clusters::new(groups(units.filter_map(|(owner, one)| Some((owner, self.usd(one)?)))))
    }

    /// Dollars of a session, where they are known of every setting.
    fn usd(&self, of: &SessionFigures) -> Option<f64> {
        let session = (of.dataset.clone(), of.session.clone());
        of.usd.filter(|_| !self.unpriced.contains(&session))
    }

    /// The sessions that tell nothing of dollars.
    pub fn unpriced(&self) -> &BTreeSet<SessionKey> {
        &self.unpriced
    }

    /// Dollars of b minus dollars of a in each session.
    pub fn dollars_difference(&self, pair: (usize, usize)) -> Clusters {
        let pairs = self.pairs(pair).into_iter();
        let less = pairs.filter_map(|(a, b)| Some((a.0, self.usd(b.1)? - self.usd(a.1)?)));
        Clusters::new(groups(less))
    }

    /// The 95th percentile of a setting's waits in seconds, by nearest rank; 0
    /// without a wait, `None` if some wait is not known.
    pub fn wait_p95(&self, setting: usize) -> Option<f64> {
        let units = self.units(setting).into_iter();
        let waits: Option<Vec<&[f64]>> =
            units.map(|(_, figures)| figures.waits_ms.as_deref()).collect();
        let mut waits = waits?.concat();
        waits.sort_by(f64::total_cmp);
        let rank = (WAITS_WITHIN * waits.len() as f64).ceil() as usize;
        Some(rank.checked_sub(1).map_or(0.0, |at| waits[at] / 1_000.0))
    }

    /// Number of sessions that tell of a setting.
    pub fn sessions(&self, setting: usize) -> usize {
        self.units(setting).len()
    }

    /// The mean difference in quality between two settings, b minus a.
    pub fn quality_estimate(&self, pair: (usize, usize), seed: u64) -> Option<WeightedMean> {
        estimate(&self.quality_difference(pair), seed)
    }

    /// The mean difference in dollars a session, b minus a.
    pub fn dollars_estimate(&self, pair: (usize, usize), seed: u64) -> Option<WeightedMean> {
        estimate(&self.dollars_difference(pair), seed)
    }
}

fn share<'a>((owner, figures): &Unit<'a>) -> Option<PooledUnit<'a>> {
    let (of, to) = figures.quality.filter(|(_, to)| *to > 0.0)?;
    Some(PooledUnit { owner: *owner, facts: to, share: of / to })
}

#[cfg(test)]
pub(super) mod testkit {
    use super::*;

    /// Clusters of one session each: `s0`, `s1`, ….
    pub fn sessions(n: usize) -> Vec<Cluster> {
        let one =
            |at| Cluster { project: None, sessions: vec![("d".to_owned(), format!("s{at}"))] };
        (0..n).map(one).collect()
    }

    /// What session `at` tells of a setting: `kept` of 30 facts, and dollars.
    pub fn told(at: usize, kept: f64, usd: f64) -> SessionFigures {
        SessionFigures {
            dataset: "d".to_owned(),
            session: format!("s{at}"),
            strategy: String::new(),
            quality: Some((kept, 30.0)),
            usd: Some(usd),
            waits_ms: Some(vec![1_000.0 * (at + 1) as f64]),
            failed: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testkit::{sessions, told};
    use super::*;

    #[test]
    fn figures_are_pooled_over_sessions_both_have() {
        let clusters = sessions(3);
        let figures = Figures::new(
            &clusters,
            vec![
                (0, told(0, 15.0, 1.0)),
                (0, told(1, 30.0, 3.0)),
                (0, told(2, 0.0, 5.0)),
                (1, told(0, 30.0, 2.0)),
                (1, told(1, 30.0, 1.0)),
            ],
        );
        // (15 + 30 + 0) / 90, and (1 + 3 + 5) / 3.
        assert_eq!(figures.quality(0).mean(), 0.5);
        assert_eq!(figures.dollars(0).mean(), 3.0);
        // Over the first two: (15 + 0) / 60, and (1 − 2) / 2.
        assert_eq!(figures.quality_difference((0, 1)).mean(), 0.25);
        assert_eq!(figures.dollars_difference((0, 1)).mean(), -0.5);
        assert_eq!(figures.sessions(1), 2);
        assert_eq!(figures.failure(0), None);
    }

    #[test]
    fn session_missing_one_price_is_excluded_from_dollars() {
        let clusters = sessions(2);
        let figures = Figures::new(
            &clusters,
            vec![
                (0, told(0, 15.0, 1.0)),
                (0, told(1, 15.0, 9.0)),
                (1, told(0, 15.0, 2.0)),
                (1, SessionFigures { usd: None, ..told(1, 30.0, 0.0) }),
            ],
        );
        // What it keeps counts; its $9 with the other setting do not.
        assert_eq!(figures.quality(1).mean(), 0.75);
        assert_eq!(figures.dollars(0).mean(), 1.0);
        assert_eq!(figures.dollars_difference((0, 1)).mean(), 1.0);
        assert_eq!(figures.unpriced().iter().map(|(_, id)| id).collect::<Vec<_>>(), ["s1"]);
    }

    #[test]
    fn wait_is_nearest_rank_unless_one_is_unknown() {
        let clusters = sessions(21);
        let mut all: Vec<_> = (0..20).map(|at| (0, told(at, 1.0, 1.0))).collect();
        let figures = Figures::new(&clusters, all.clone());
        // Waits of 1 to 20 seconds: ⌈0.95 · 20⌉ = 19.
        assert_eq!(figures.wait_p95(0), Some(19.0));
        assert_eq!(figures.wait_p95(1), Some(0.0));
        all.push((0, SessionFigures { waits_ms: None, ..told(20, 1.0, 1.0) }));
        assert_eq!(Figures::new(&clusters, all).wait_p95(0), None);
    }
}
