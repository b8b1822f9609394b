//! Forgetting curves: recall by the compactions or tokens since something was
//! last mentioned (measures §5).

use std::collections::BTreeMap;

use super::names::BASELINE;
use crate::model::{
    AgeBin, AgeUnit, Cell, CellKey, CellRows, Forgetting, ProbeKind, Sessions, Standing,
    TranscriptFacts,
};

/// First values of the bins of compactions.
const COMPACTIONS: [u64; 7] = [0, 1, 2, 3, 5, 9, 17];
/// First values of the bins of tokens; from 4,000 on they are those of the
/// reference bands (measures §4).
const TOKENS: [u64; 7] = [0, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000];

/// Number of questions at one age, and number of right answers.
#[derive(Clone, Copy, Default)]
struct Tally {
    probes: u64,
    score: f64,
    references: u64,
    kept: u64,
}

/// The tallies of one preset at one window, by age.
#[derive(Default)]
struct Curve {
    compactions: [Tally; COMPACTIONS.len()],
    tokens: [Tally; TOKENS.len()],
}

/// The curves of every replayed preset, by window as typed, then by name.
/// Probes and references are pooled over transcripts, because a curve depends
/// on age and not on the session.
pub fn curves(
    windows: &[String],
    facts: &[TranscriptFacts],
    sessions: &Sessions,
) -> Vec<Forgetting> {
    let known: BTreeMap<(&str, &str), &TranscriptFacts> =
        facts.iter().map(|f| ((f.dataset.as_str(), f.transcript.as_str()), f)).collect();
    let mut curves: BTreeMap<(usize, String, String), Curve> = BTreeMap::new();
    for session in sessions.iter() {
        let Some(facts) = known.get(&(session.dataset, session.transcript)) else { continue };
        for cell in session.cells() {
            let fits = |rows: &&CellRows| rows.requests.len() == facts.requests.len();
            let Some(rows) = cell.rows().filter(fits) else { continue };
            let CellKey { strategy, window, .. } = &cell.key;
            let at = windows.iter().position(|w| w == window).unwrap_or(windows.len());
            let key = (at, window.clone(), strategy.clone());
            curves.entry(key).or_default().take(facts, cell, rows);
        }
    }
    curves
        .into_iter()
        .flat_map(|((_, window, strategy), curve)| curve.rows(&window, &strategy))
        .collect()
}

impl Curve {
    fn take(&mut self, facts: &TranscriptFacts, cell: &Cell, rows: &CellRows) {
        for row in &rows.probes {
            let Some(asked) = facts.probes.get(row.probe as usize) else { continue };
            let Some(score) = cell.score(row) else { continue };
            if asked.probe.kind == ProbeKind::Abstain {
                continue;
            }
            let count = |tally: &mut Tally| {
                tally.probes += 1;
                tally.score += score;
            };
            if let (Some(compactions), Some(tokens)) = (row.age_compactions, asked.age_tokens) {
                count(self.since_compactions(u64::from(compactions)));
                count(self.since_tokens(tokens));
            }
        }
        for outcome in &rows.references {
            let Some(reference) = facts.exam.references.get(outcome.reference as usize) else {
                continue;
            };
            // A refused request keeps nothing, except for controls (measures
            // §1).
            let refused = cell.standing != Standing::Control
                && rows.requests.get(reference.request as usize).is_some_and(|r| r.overflow);
            let kept = u64::from(outcome.state.is_kept() && !refused);
            let count = |tally: &mut Tally| {
                tally.references += 1;
                tally.kept += kept;
            };
            let age = compactions_between(rows, reference.last_seen, reference.request);
            count(self.since_compactions(age));
            count(self.since_tokens(reference.distance_tokens));
        }
    }

    fn since_compactions(&mut self, age: u64) -> &mut Tally {
        &mut self.compactions[COMPACTIONS.partition_point(|from| *from <= age) - 1]
    }

    fn since_tokens(&mut self, age: u64) -> &mut Tally {
        &mut self.tokens[TOKENS.partition_point(|from| *from <= age) - 1]
    }

    fn rows(&self, window: &str, strategy: &str) -> Vec<Forgetting> {
        let curve = |age, bins: Vec<AgeBin>| Forgetting {
            strategy: strategy.to_owned(),
            window: window.to_owned(),
            age,
            bins,
        };
        let compactions = bins(&COMPACTIONS, &self.compactions);
        // A preset that never compacts has only one age in compactions, and no
        // curve.
        let never = strategy == BASELINE;
        let by_compactions = (!never).then(|| curve(AgeUnit::Compactions, compactions));
        let by_tokens = curve(AgeUnit::Tokens, bins(&TOKENS, &self.tokens));
        by_compactions.into_iter().chain([by_tokens]).filter(|c| !c.bins.is_empty()).collect()
    }
}

/// Number of compactions after a message had arrived and up to a request. The
/// rows are in chronological order.
fn compactions_between(rows: &CellRows, message: u32, request: u32) -> u64 {
    let until = rows.compactions.partition_point(|c| c.request <= request);
    let before = rows.compactions.partition_point(|c| c.messages_seen <= message);
    until.saturating_sub(before) as u64
}

fn bins(starts: &[u64], tallies: &[Tally]) -> Vec<AgeBin> {
    let bin = |(at, tally): (usize, &Tally)| AgeBin {
        from: starts[at],
        to: starts.get(at + 1).copied(),
        probes: tally.probes,
        recall: (tally.probes > 0).then(|| tally.score / tally.probes as f64),
        references: tally.references,
        reference_recall: (tally.references > 0)
            .then(|| tally.kept as f64 / tally.references as f64),
    };
    let asked = |tally: &Tally| tally.probes + tally.references > 0;
    tallies.iter().enumerate().filter(|(_, tally)| asked(tally)).map(bin).collect()
}
