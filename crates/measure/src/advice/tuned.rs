//! Which setting of a strategy to use (how-it-works §50): chosen on one half of the sessions,
//! judged on the other. A fold over the figures of sessions under each setting, which come from
//! the replay, so that a trigger that fires earlier keeps less.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::findings::Evidence;
use crate::statistics::pooling::families;
use crate::statistics::{Clusters, FEWEST_FOR_AN_INTERVAL, Weighted};
use recap_core::model::{
    Admission, CellOutcome, Grid, Manifest, Measure, Ranged, SessionFacts, SessionRow, Tuned,
    TunedHalf, TunedSessions, TunedSetting, catalogue,
};
use recap_core::text::counted;
use recap_core::wording::number;

/// The author's setting is the first one.
const AUTHOR: usize = 0;
/// Share of the author's bill, and of all facts, below which nothing is worth a setting.
const WORTH: f64 = 0.01;
/// The bill: with what is lost fetched again, so that losses are not free.
const BILL: &Measure = catalogue::COST_USD_REFETCH;

/// What a search came to; `None` for a run that is none.
pub(crate) fn tuned(run: &Evidence<'_>, rows: &[SessionRow]) -> Option<Tuned> {
    let Evidence { manifest, facts, .. } = run;
    let grid = manifest.grid.as_ref()?;
    let figures = Figures::of(run, grid, rows);
    let (by_project, halves) = split(facts, &figures.sessions());
    let clusters = halves.each_ref().map(|half| clusters(facts, half, by_project));
    let changes = [""].into_iter().chain(grid.changes.iter().map(String::as_str));
    let setting = |(at, changes): (usize, &str)| {
        let [choosing, held_back] =
            clusters.each_ref().map(|half| figures.half(half, at, manifest));
        let (changes, strategy) = (changes.to_owned(), figures.names[at].to_owned());
        TunedSetting { changes, strategy, frontier: false, choosing, held_back }
    };
    let mut settings: Vec<TunedSetting> = changes.enumerate().map(setting).collect();
    let frontier: Vec<bool> = settings.iter().map(|one| is_on_frontier(one, &settings)).collect();
    settings.iter_mut().zip(frontier).for_each(|(one, is)| one.frontier = is);
    let (recommended, because) = if halves.iter().any(Vec::is_empty) {
        (AUTHOR, "one project or session alone cannot be divided".to_owned())
    } else {
        recommended(&settings)
    };
    let [choosing, held_back] = halves.each_ref().map(|half| TunedSessions {
        sessions: half.iter().map(Vec::len).sum(),
        units: half.len(),
        requests: requests(facts, half.iter().flatten()),
    });
    Some(Tuned {
        strategy: grid.author.clone(),
        typed: grid.typed.clone(),
        unit: if by_project { "project" } else { "session" },
        choosing,
        held_back,
        settings,
        refused: grid.refused.clone(),
        recommended,
        because,
    })
}

/// Sessions by what stays together.
type Units = Vec<Vec<usize>>;

fn requests<'a>(facts: &[SessionFacts], sessions: impl IntoIterator<Item = &'a usize>) -> usize {
    sessions.into_iter().map(|at| facts[*at].requests.len()).sum()
}

/// Whether projects are divided, and both halves, the first of which chooses: projects, the one
/// with most requests first, go to the half that has fewer requests so far. Where one project is
/// known at most, sessions do.
fn split(facts: &[SessionFacts], sessions: &[usize]) -> (bool, [Units; 2]) {
    let groups = |by_project| families(sessions.iter().map(|at| (&facts[*at], *at)), by_project);
    let projects = groups(true);
    let named = projects.iter().filter(|one| facts[one[0]].cluster.is_some()).count();
    let by_project = named > 1;
    let mut units = groups(by_project);
    units.sort_by_key(|one| Reverse(requests(facts, one)));
    let (mut halves, mut sums) = ([Units::new(), Units::new()], [0, 0]);
    for one in units {
        let lighter = usize::from(sums[1] < sums[0]);
        sums[lighter] += requests(facts, &one);
        halves[lighter].push(one);
    }
    (by_project, halves)
}

/// What is resampled of a half: projects, or where those are too few for an interval their
/// sessions.
fn clusters(facts: &[SessionFacts], half: &Units, by_project: bool) -> Units {
    if by_project && half.len() < FEWEST_FOR_AN_INTERVAL {
        families(half.iter().flatten().map(|at| (&facts[*at], *at)), false)
    } else {
        half.clone()
    }
}

/// The weighted mean of what sessions have: a value and its weight.
fn mean(half: &Units, seed: u64, of: impl Fn(usize) -> Option<(f64, f64)>) -> Option<Ranged> {
    let weighted = |at: &usize| of(*at).map(|(value, weight)| Weighted { value, weight });
    let groups = half.iter().map(|one| one.iter().filter_map(weighted).collect());
    let clusters = Clusters::weighted(groups.collect());
    let (lo, hi) = clusters.confidence(seed).unzip();
    (clusters.n() > 0).then(|| Ranged { value: clusters.mean(), lo, hi })
}

/// The figures of sessions under each setting.
struct Figures<'a> {
    names: Vec<&'a str>,
    rows: BTreeMap<(usize, usize), &'a SessionRow>,
    failed: BTreeSet<usize>,
}

impl<'a> Figures<'a> {
    fn of(run: &Evidence<'a>, grid: &'a Grid, rows: &'a [SessionRow]) -> Self {
        let others = run.manifest.strategies.iter().map(|one| one.name.as_str());
        let others = others.filter(|name| *name != grid.author);
        let names: Vec<&str> =
            [grid.author.as_str()].into_iter().chain(others).take(grid.changes.len() + 1).collect();
        let place = |name: &str| names.iter().position(|one| *one == name);
        // Only bills differ between billing models.
        let billed = rows.first().map(|row| &row.billed_as);
        let own = rows.iter().filter(|row| Some(&row.billed_as) == billed);
        let rows = own.filter_map(|row| Some(((place(&row.strategy)?, row.unit), row))).collect();
        let mut failed = BTreeSet::new();
        for session in run.results.iter() {
            let cells = session.cells().iter();
            let broken = cells.filter(|cell| matches!(cell.outcome, CellOutcome::Failed { .. }));
            failed.extend(broken.filter_map(|cell| place(&cell.key.strategy)));
        }
        Figures { names, rows, failed }
    }

    /// The sessions that tell of the author's setting.
    fn sessions(&self) -> Vec<usize> {
        self.rows.keys().filter(|(at, _)| *at == AUTHOR).map(|(_, session)| *session).collect()
    }

    fn figure(&self, setting: usize, session: usize, measure: &Measure) -> Option<f64> {
        self.rows.get(&(setting, session))?.figure(measure)
    }

    /// Dollars of a session; of one that has no price under some setting, none.
    fn usd(&self, setting: usize, session: usize) -> Option<f64> {
        let each = (0..self.names.len()).filter(|at| !self.failed.contains(at));
        let mut all = each.map(|at| self.figure(at, session, BILL));
        all.all(|usd| usd.is_some()).then(|| self.figure(setting, session, BILL)).flatten()
    }

    /// A setting on one half, and whether it is admissible there.
    fn half(&self, half: &Units, setting: usize, manifest: &Manifest) -> TunedHalf {
        let seed = manifest.seed;
        let sessions = || half.iter().flatten().copied();
        let within = |range: Ranged| Ranged {
            lo: range.lo.map(|lo| lo.clamp(0.0, 1.0)),
            hi: range.hi.map(|hi| hi.clamp(0.0, 1.0)),
            ..range
        };
        let sum = |setting: usize, measure: &Measure| -> f64 {
            sessions().filter_map(|at| self.figure(setting, at, measure)).sum()
        };
        let usd = |setting: usize| {
            let known: Vec<f64> = sessions().filter_map(|at| self.usd(setting, at)).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>())
        };
        let kept = |setting: usize, at: usize| {
            let facts = self.figure(setting, at, catalogue::REFERENCES)?;
            let kept = self.figure(setting, at, catalogue::REFERENCES_KEPT)?;
            (facts > 0.0).then(|| (kept / facts, facts))
        };
        let answers = |setting: usize, at: usize| {
            let asked = self.figure(setting, at, catalogue::QUESTIONS)?;
            Some((self.figure(setting, at, catalogue::RECALL)?, asked))
        };
        // Of pairs of sessions the difference to the author's, with the weight of a session.
        let less = |of: &dyn Fn(usize, usize) -> Option<(f64, f64)>| {
            mean(half, seed, |at| {
                let ((own, weight), (author, _)) = (of(setting, at)?, of(AUTHOR, at)?);
                Some((own - author, weight))
            })
        };
        let saving = mean(half, seed, |at| {
            let (own, author) = (self.usd(setting, at)?, self.usd(AUTHOR, at)?);
            (author > 0.0).then(|| (1.0 - own / author, author))
        });
        let mut found = TunedHalf {
            admission: Admission::Admissible,
            usd: usd(setting),
            saving,
            refused: sum(setting, catalogue::OVERFLOWS),
            facts: sum(setting, catalogue::REFERENCES),
            kept: mean(half, seed, |at| kept(setting, at)).map(within),
            kept_difference: less(&kept),
            answers: mean(half, seed, |at| answers(setting, at)).map(within),
            answers_difference: less(&answers),
        };
        let is_lower = |of: Option<Ranged>| of.is_some_and(|one| is_lower(one, manifest.margin));
        found.admission = match (found.usd, usd(AUTHOR)) {
            _ if self.failed.contains(&setting) => Admission::Failed,
            _ if found.refused > sum(AUTHOR, catalogue::OVERFLOWS) => Admission::Refused,
            (None, _) | (_, None) => Admission::Unpriced,
            (Some(own), Some(author)) if own > author * (1.0 + 1e-9) => Admission::Dearer,
            _ if is_lower(found.kept_difference) || is_lower(found.answers_difference) => {
                Admission::KeepsLess
            }
            _ => Admission::Admissible,
        };
        found
    }
}

/// Whether a difference is below zero beyond its interval, or without one at all; and however
/// wide the interval is, below what still counts as no worse.
fn is_lower(difference: Ranged, margin: f64) -> bool {
    let below = difference.hi.unwrap_or(difference.value) < -1e-9;
    below || difference.value < -margin
}

/// What is kept: facts, or answers where no request used a fact.
fn kept(half: &TunedHalf) -> f64 {
    half.kept.or(half.answers).map_or(0.0, |one| one.value)
}

/// Dollars and what is lost, both to be small.
fn figures(setting: &TunedSetting) -> Option<(f64, f64)> {
    let half = &setting.choosing;
    let usd = half.usd.filter(|_| half.admission == Admission::Admissible)?;
    Some((usd, 1.0 - kept(half)))
}

/// Whether no other admissible setting keeps as much for as little, and more or for less.
fn is_on_frontier(setting: &TunedSetting, all: &[TunedSetting]) -> bool {
    let Some(own) = figures(setting) else { return false };
    let beats = |other: (f64, f64)| other.0 <= own.0 && other.1 <= own.1 && other != own;
    !all.iter().filter_map(figures).any(beats)
}

/// The setting that is recommended, and why.
fn recommended(settings: &[TunedSetting]) -> (usize, String) {
    let author = &settings[AUTHOR];
    let Some((usd, lost)) = figures(author) else {
        return (AUTHOR, format!("with them {}", against(&author.choosing, &author.choosing)));
    };
    let improves = |own: (f64, f64)| own.0 < usd * (1.0 - WORTH) || own.1 < lost - WORTH;
    let others = settings.iter().enumerate().skip(1);
    let admissible: Vec<(usize, (f64, f64))> =
        others.filter_map(|(at, one)| Some((at, figures(one)?))).collect();
    let better = admissible.iter().filter(|(_, own)| improves(*own));
    let Some((best, _)) = better
        .min_by(|a, b| (a.1.0.total_cmp(&b.1.0)).then(a.1.1.total_cmp(&b.1.1)).then(a.0.cmp(&b.0)))
    else {
        let others = counted(settings.len() - 1, "other setting");
        return (AUTHOR, format!("none of {others} is admissible and better"));
    };
    let (own, held) = (&settings[*best], &settings[*best].held_back);
    let because = against(held, &author.held_back);
    if held.admission != Admission::Admissible {
        let because = format!(
            "{} is the cheapest admissible setting where it was chosen, but on the half held back \
             {because}",
            own.changes
        );
        return (AUTHOR, because);
    }
    let of = counted(admissible.len(), "admissible setting");
    (*best, format!("the cheapest of {of} where it was chosen; on the half held back {because}"))
}

/// What a half says of a setting, against the author's.
fn against(own: &TunedHalf, author: &TunedHalf) -> String {
    let usd =
        |of: &TunedHalf| of.usd.map_or_else(|| "an unknown price".to_owned(), number::dollars);
    let refused = |of: &TunedHalf| number::any(of.refused);
    match own.admission {
        Admission::Failed => "a replay failed".to_owned(),
        Admission::Unpriced => "a price is not known".to_owned(),
        Admission::Refused => {
            format!("{} prompts are refused, {} with the author's", refused(own), refused(author))
        }
        Admission::Dearer => format!("it costs {}, the author's {}", usd(own), usd(author)),
        Admission::KeepsLess | Admission::Admissible => {
            let shares =
                [(own.kept, author.kept, "facts"), (own.answers, author.answers, "answers")];
            let each = shares.into_iter().filter_map(|(own, author, noun)| {
                let [own, author] = [own?.value, author?.value].map(number::percent);
                Some(format!("{noun} kept {own}, the author's {author}"))
            });
            let each: Vec<String> = each.collect();
            let paid = format!("it costs {}, the author's {}", usd(own), usd(author));
            [vec![paid], each].concat().join("; ")
        }
    }
}

#[cfg(test)]
#[path = "tuned_tests.rs"]
mod tests;
