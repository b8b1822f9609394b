//! How the setting that the search found does on the sessions that it never saw.

use super::figures::{Figures, Objective};
use super::recommend::AUTHOR;
use recap_core::model::{Ranged, TunedDifference, TunedHeldBack};
use recap_core::text::counted;
use recap_core::wording::number;
use recap_measure::{Clusters, FEWEST_FOR_AN_INTERVAL, WeightedMean};

/// Largest p at which a difference is called one.
const LEVEL: f64 = 0.05;

/// Compares a setting with the author's, paired by session.
pub fn held_back(
    figures: &Figures,
    setting: usize,
    objective: Objective,
    seed: u64,
) -> TunedHeldBack {
    let pair = (AUTHOR, setting);
    let mean = |clusters: Clusters| (clusters.n() > 0).then(|| clusters.mean());
    let kept = figures.quality_estimate(pair, seed);
    let kept = difference(kept, [pair.0, pair.1].map(|at| mean(figures.quality(at))));
    let usd = figures.dollars_estimate(pair, seed);
    let usd = difference(usd, [pair.0, pair.1].map(|at| mean(figures.dollars(at))));
    let words = format!(
        "{} {}",
        kept.as_ref().map_or_else(
            || format!("No fact was needed in {}.", objective.noun()),
            |found| in_words(found, objective.noun(), number::percent),
        ),
        usd.as_ref().map_or_else(
            || "Dollars are not known, since a price is not.".to_owned(),
            |found| in_words(found, "dollars a session", number::dollars),
        )
    );
    TunedHeldBack { setting, sessions: figures.sessions(setting), kept, usd, words }
}

/// A difference, where both settings have figures.
fn difference(
    estimate: Option<WeightedMean>,
    [author, found]: [Option<f64>; 2],
) -> Option<TunedDifference> {
    let estimate = estimate?;
    Some(TunedDifference {
        author: author?,
        found: found?,
        difference: ranged(&estimate),
        p: estimate.p,
        clusters: estimate.clusters,
    })
}

/// A mean with its interval.
pub(super) fn ranged(estimate: &WeightedMean) -> Ranged {
    Ranged {
        mean: estimate.mean,
        lo: estimate.bounds.map(|bounds| bounds.lo),
        hi: estimate.bounds.map(|bounds| bounds.hi),
    }
}

/// What a difference shows. An interval that holds zero shows none.
fn in_words(found: &TunedDifference, noun: &str, show: fn(f64) -> String) -> String {
    let (from, to) = (show(found.author), show(found.found));
    let clusters = counted(found.clusters, "independent project or session");
    let Some((lo, hi)) = found.difference.lo.zip(found.difference.hi) else {
        return format!(
            "In {noun} {from} became {to} over {clusters}, which are too few for an interval \
             ({FEWEST_FOR_AN_INTERVAL} are needed): this describes these sessions only."
        );
    };
    if found.difference.mean == 0.0 && lo == hi {
        return format!("In {noun} both are the same ({from}) over {clusters}.");
    }
    let holds_zero = lo <= 0.0 && hi >= 0.0;
    let shown = !holds_zero && found.p.is_some_and(|p| p <= LEVEL);
    let verdict = if shown { "a difference is shown" } else { "no difference is shown" };
    format!(
        "In {noun} {from} became {to}: {verdict} (95 % interval of the difference {} to {}, over \
         {clusters}).",
        signed(lo, show),
        signed(hi, show)
    )
}

/// A number with its sign.
fn signed(x: f64, show: fn(f64) -> String) -> String {
    let sign = if x < 0.0 { "−" } else { "+" };
    format!("{sign}{}", show(x.abs()))
}

#[cfg(test)]
mod tests {
    use super::super::figures::testkit::{sessions, told};
    use super::*;
    use recap_measure::SessionFigures;

    fn compared(n: usize, figures: &[(f64, f64, f64, f64)]) -> TunedHeldBack {
        let each = figures.iter().cycle().take(n).enumerate();
        let figures = each.flat_map(|(at, (kept, usd, tuned, less))| {
            [(AUTHOR, told(at, *kept, *usd)), (3, told(at, *tuned, *less))]
        });
        held_back(&Figures::new(&sessions(n), figures.collect()), 3, Objective::Kept, 1)
    }

    #[test]
    fn without_price_only_what_is_kept_is_compared() {
        let unpriced = |setting| (setting, SessionFigures { usd: None, ..told(0, 15.0, 0.0) });
        let figures = Figures::new(&sessions(1), vec![unpriced(AUTHOR), unpriced(3)]);
        let found = held_back(&figures, 3, Objective::Kept, 1);
        assert_eq!((found.kept.unwrap().author, found.usd), (0.5, None));
        assert!(found.words.ends_with("Dollars are not known, since a price is not."));
    }

    #[test]
    fn difference_is_shown_where_interval_excludes_zero() {
        // 15 of 30 facts became 18 in every session, and $2 became $1.
        let found = compared(8, &[(15.0, 2.0, 18.0, 1.0)]);
        let kept = found.kept.unwrap();
        assert!((kept.difference.mean - 0.1).abs() < 1e-12);
        assert_eq!((kept.author, kept.clusters, kept.p), (0.5, 8, Some(2.0 / 256.0)));
        assert_eq!(found.usd.unwrap().difference.mean, -1.0);
        assert_eq!(found.words.matches(": a difference is shown").count(), 2, "{}", found.words);
    }

    #[test]
    fn no_difference_is_shown_where_interval_contains_zero() {
        let found = compared(8, &[(15.0, 2.0, 18.0, 2.0), (15.0, 2.0, 12.0, 2.0)]);
        assert!(found.words.contains("no difference is shown"), "{}", found.words);
        assert!(found.words.contains("both are the same"), "{}", found.words);
    }

    #[test]
    fn few_clusters_are_described_only() {
        let found = compared(3, &[(15.0, 2.0, 18.0, 1.0)]);
        assert_eq!(found.kept.unwrap().difference.lo, None);
        assert!(found.words.contains("too few for an interval (6 are needed)"), "{}", found.words);
    }
}
