//! The contributions of one cell to the measures of cuts.

use std::collections::BTreeSet;

use crate::measure::exams::{AtCut, Depth};
use crate::measure::spec::{Parts, Sample};
use crate::model::{
    Absent, Agreement, CutBill, FactAtStake, MessageIndex, ProbeKind, ProbeRow, RIGHT,
    ReferenceState, Standing,
};

/// 1 for each fact that is kept and 0 for each that is not, in the order of the
/// session.
pub fn kept_series(sample: &Sample<'_>, depth: Depth) -> Vec<Option<f64>> {
    let exams = sample.exams.at(sample.cell, depth);
    let states = exams.iter().flat_map(|at| &at.exam.states);
    states.map(|state| Some(kept(*state))).collect()
}

/// The values of [`kept_series`] minus those of the null.
pub fn added_series(sample: &Sample<'_>, depth: Depth) -> Vec<Option<f64>> {
    let (own, null) = (sample.exams.at(sample.cell, depth), sample.exams.null(sample.cell, depth));
    let states = |exams: &[AtCut<'_>]| {
        let states = exams.iter().flat_map(|at| at.exam.states.clone());
        states.map(kept).collect::<Vec<f64>>()
    };
    let (own, null) = (states(&own), states(&null));
    if own.len() != null.len() {
        return Vec::new();
    }
    own.iter().zip(null).map(|(own, null)| Some(own - null)).collect()
}

pub(super) fn kept(state: ReferenceState) -> f64 {
    if state.is_kept() { 1.0 } else { 0.0 }
}

/// The result of `of` for the exams of a cell; absent if the cell has none.
pub(super) fn each(sample: &Sample<'_>, depth: Depth, of: impl Fn(&[AtCut<'_>]) -> Parts) -> Parts {
    let exams = sample.exams.at(sample.cell, depth);
    if exams.is_empty() { Parts::Absent(Absent::NotCut) } else { of(&exams) }
}

/// A share of the facts at stake.
pub(super) fn share(sample: &Sample<'_>, depth: Depth, of: impl Fn(&AtCut<'_>) -> f64) -> Parts {
    each(sample, depth, |exams| match facts(exams) {
        0.0 => Parts::Absent(Absent::NoFacts),
        to => Parts::Fraction { of: sum(exams, &of), to },
    })
}

pub(super) fn sum(exams: &[AtCut<'_>], of: impl Fn(&AtCut<'_>) -> f64) -> f64 {
    exams.iter().map(of).sum()
}

pub(super) fn facts(exams: &[AtCut<'_>]) -> f64 {
    sum(exams, |at| at.cut.facts.len() as f64)
}

pub(super) fn exposed(at: &AtCut<'_>) -> f64 {
    at.count(|state| state != ReferenceState::Verbatim)
}

pub(super) fn carried(sample: &Sample<'_>, depth: Depth) -> Parts {
    each(sample, depth, |exams| match sum(exams, exposed) {
        0.0 => Parts::Absent(Absent::NothingExposed),
        to => {
            let of = sum(exams, |at| at.count(|state| state == ReferenceState::Carried));
            Parts::Fraction { of, to }
        }
    })
}

pub(super) fn added(sample: &Sample<'_>, depth: Depth) -> Parts {
    let null = sample.exams.null(sample.cell, depth);
    each(sample, depth, |exams| {
        // A null that failed at some cut has another exam.
        let same = null.iter().map(|at| at.cut.key()).eq(exams.iter().map(|at| at.cut.key()));
        match facts(exams) {
            _ if null.is_empty() => Parts::Absent(Absent::NoNull),
            _ if !same => Parts::Absent(Absent::NullFailed),
            0.0 => Parts::Absent(Absent::NoFacts),
            to => {
                Parts::Fraction { of: sum(exams, |at| at.kept()) - sum(&null, |at| at.kept()), to }
            }
        }
    })
}

/// Requests until the first fact that is missing, and whether a fact is
/// missing.
pub(super) fn first_miss(at: &AtCut<'_>) -> (f64, bool) {
    let facts = at.cut.facts.iter().zip(&at.exam.states);
    let missed = facts.filter(|(_, state)| !state.is_kept()).map(|(fact, _)| fact.request);
    match missed.min() {
        Some(request) => (f64::from(request - at.cut.request + 1), true),
        None => (f64::from(at.cut.requests), false),
    }
}

pub(super) fn lost<'a>(at: &AtCut<'a>) -> impl Iterator<Item = &'a FactAtStake> {
    let facts = at.cut.facts.iter().zip(&at.exam.states);
    facts.filter(|(_, state)| **state == ReferenceState::Lost).map(|(fact, _)| fact)
}

/// Tokens of the sources of lost facts, each counted once; a source that the
/// recording fetched again anyway is not counted.
pub(super) fn refetch(sample: &Sample<'_>, at: &AtCut<'_>) -> u64 {
    let sources: BTreeSet<MessageIndex> =
        lost(at).filter(|fact| !fact.reread).filter_map(|fact| fact.refetch).collect();
    let tokens = |source: MessageIndex| sample.facts.messages.get(source as usize);
    sources.into_iter().filter_map(tokens).map(|message| message.tokens).sum()
}

pub(super) fn between(sample: &Sample<'_>, from: u32, to: u32) -> Parts {
    each(sample, Depth::Greatest, |exams| {
        let (mut told, mut all) = (0.0, 0.0);
        for at in exams {
            for (fact, state) in at.cut.facts.iter().zip(&at.exam.states) {
                if (from..=to).contains(&(fact.request - at.cut.request + 1)) {
                    all += 1.0;
                    told += kept(*state);
                }
            }
        }
        if all == 0.0 {
            Parts::Absent(Absent::NoFacts)
        } else {
            Parts::Fraction { of: told, to: all }
        }
    })
}

/// The payer's bill of a cut.
pub(super) fn bill<'a>(sample: &Sample<'_>, at: &AtCut<'a>) -> Option<&'a CutBill> {
    at.exam.bills.iter().find(|bill| bill.billed_as == sample.payer)
}

pub(super) fn cost(sample: &Sample<'_>, depth: Depth) -> Parts {
    each(sample, depth, |exams| {
        let usd = exams.iter().map(|at| {
            let bill = bill(sample, at)?;
            Some(bill.compactions_usd? + bill.with_usd? - bill.without_usd?)
        });
        match usd.sum::<Option<f64>>() {
            Some(of) => Parts::Fraction { of, to: exams.len() as f64 },
            None => Parts::Unknown(Absent::SomePrice),
        }
    })
}

pub(super) fn pays(sample: &Sample<'_>, depth: Depth) -> Parts {
    each(sample, depth, |exams| {
        let compacted = exams.iter().filter(|at| at.exam.compactions > 0);
        let wait = |at: &AtCut<'_>| {
            let bill = bill(sample, at)?;
            bill.with_usd?;
            Some(match bill.pays_after {
                Some(request) => (f64::from(request), true),
                None => (f64::from(at.cut.requests), false),
            })
        };
        match compacted.map(wait).collect::<Option<Vec<(f64, bool)>>>() {
            Some(waits) if waits.is_empty() => Parts::Absent(Absent::NoCompactionAtCut),
            Some(waits) => Parts::Waits(waits),
            None => Parts::Unknown(Absent::SomePrice),
        }
    })
}

/// 100 × kept / (kept + lost), over the questions asked at the cuts of a
/// session.
pub(super) fn continuity(sample: &Sample<'_>, depth: Depth) -> Parts {
    let full = sample.exams.beside(sample.cell, "full", depth);
    // At a first compaction the window is chosen for the cut.
    let deep = sample.exams.depth(depth).is_some_and(|depth| depth > 1);
    let answers = deep && sample.cell.standing != Standing::Control;
    each(sample, depth, |exams| {
        let (mut kept, mut before) = (0.0, 0.0);
        for at in exams {
            let Some(whole) = full.iter().find(|other| other.cut.key() == at.cut.key()) else {
                continue;
            };
            let overflow = at.exam.snapshot.as_ref().is_some_and(|snapshot| snapshot.overflow);
            let refused = answers && overflow;
            // A question without an answer is no continuity (semantics §30).
            let is_known = |row: &&ProbeRow| {
                let question = sample.facts.question(row.probe);
                question.is_some_and(|asked| asked.probe.kind != ProbeKind::Abstain)
            };
            let own: Vec<ProbeRow> = at.exam.probes.iter().filter(is_known).cloned().collect();
            for (pre, post) in pairs(&whole.exam.probes, &own) {
                match Agreement::of(pre, post && !refused) {
                    Agreement::Kept => (kept, before) = (kept + 1.0, before + 1.0),
                    Agreement::Lost => before += 1.0,
                    Agreement::Gained | Agreement::Neither => {}
                }
            }
        }
        match before {
            0.0 => Parts::Absent(Absent::NoQuestionAtCut),
            _ => Parts::Fraction { of: 100.0 * kept, to: before },
        }
    })
}

/// Whether each probe is right without compression, and under the preset.
/// Unpaired probes and those without a score are left out.
pub(super) fn pairs<'a>(
    full: &'a [ProbeRow],
    own: &'a [ProbeRow],
) -> impl Iterator<Item = (bool, bool)> + use<'a> {
    own.iter().filter_map(|row| {
        let pre = full.iter().find(|other| other.probe == row.probe)?;
        let right = |row: &ProbeRow| Some(row.judgement.score? >= RIGHT);
        Some((right(pre)?, right(row)?))
    })
}
