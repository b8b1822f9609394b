//! Estimates how much each source of chance contributes to a row (measures §7).
//!
//! A figure y of probe p of transcript t under replicate r of its compaction is
//! taken as `μ + transcript_t + probe_p(t) + compaction_r(t) + rest`: probes and
//! replicates are crossed within a transcript, and both are nested in it. If
//! there are no probes, requests replace them. The parts are estimated by the
//! method of moments: sums of squares are set equal to their expected values
//! (Henderson 1953, "Estimation of Variance and Covariance Components",
//! method 1; Searle, Casella and McCulloch 1992, "Variance Components", 5).
//! With nₜ probes and Rₜ replicates of transcript t
//!
//! - `E[SS_rest] = σ²_rest · Σ (nₜ − 1)(Rₜ − 1)`
//! - `E[SS_compaction] = Σ (Rₜ − 1)(σ²_rest + nₜ σ²_compaction)`
//! - `E[SS_probe] = Σ (nₜ − 1)(σ²_rest + Rₜ σ²_probe)`
//! - `E[s²(ȳₜ)] = σ²_transcript + mean(1/Rₜ) σ²_compaction + mean(1/nₜ) σ²_probe
//!   + mean(1/nₜRₜ) σ²_rest`, transcripts unweighted, as in the measure.
//!
//! An estimate below zero is replaced by zero. Without replicates σ²_probe
//! includes the rest, and σ²_transcript the effect of a whole compaction. Every
//! question is answered once, so that the variance of answers cannot be
//! separated from the rest. A panel's first two judges grade the same answer:
//! half of their mean squared difference is the variance of one of them.

use std::collections::BTreeMap;

use crate::model::{Absent, ChanceOf, ProbeRow, RIGHT, Value, VariancePart};

/// One figure per request or probe; `None` where there is none.
pub(super) type Figures = Vec<Option<f64>>;

/// What the first two judges of a panel made of the same answers.
#[derive(Clone, Copy, Default)]
pub struct Judged {
    /// Number of answers that both graded.
    answers: u64,
    /// Number of answers that only one of them finds right.
    apart: u64,
}

impl Judged {
    /// Counts an answer, if two judges graded it.
    pub fn add(&mut self, row: &ProbeRow) {
        if let [first, second, ..] = row.judgement.votes.as_slice()
            && let Some((first, second)) = first.score.zip(second.score)
        {
            self.answers += 1;
            self.apart += u64::from((first >= RIGHT) != (second >= RIGHT));
        }
    }
}

/// A variance with its degrees of freedom, or why it is unknown.
type Estimate = Result<(f64, u64), Absent>;

/// The parts, in the order of [`ChanceOf`], from the figures of each
/// transcript, one list per replicate. `most` is the largest value of the
/// measure.
pub fn parts(
    transcripts: &BTreeMap<usize, Vec<&Figures>>,
    judged: Judged,
    most: f64,
) -> Vec<VariancePart> {
    let layout = Layout(transcripts.values().filter_map(|figures| Table::of(figures)).collect());
    let rest = layout.rest();
    let known = rest.map_or(0.0, |(variance, _)| variance);
    let compaction = layout.compaction(known);
    let probe = layout.probe(known);
    let transcript = layout.transcript(&compaction, &probe, known);
    let answer = match rest {
        Some((variance, _)) => Absent::AnsweredOncePerCompaction(variance.max(0.0)),
        None => Absent::AnsweredOnce,
    };
    let judge = match judged.answers {
        0 => Err(Absent::OneJudge),
        n => Ok((judged.apart as f64 * most * most / (2.0 * n as f64), n)),
    };
    [
        (ChanceOf::Transcript, transcript),
        (ChanceOf::Probe, probe),
        (ChanceOf::Compaction, compaction),
        (ChanceOf::Answer, Err(answer)),
        (ChanceOf::Judge, judge),
    ]
    .into_iter()
    .map(|(of, estimate)| match estimate {
        Ok((variance, freedom)) => {
            VariancePart { of, variance: Value::Known(variance.max(0.0)), freedom }
        }
        Err(reason) => VariancePart { of, variance: Value::Absent(reason), freedom: 0 },
    })
    .collect()
}

/// The figures of one transcript, for the probes with a figure in every
/// replicate.
struct Table {
    probes: f64,
    replicates: f64,
    mean: f64,
    of_probes: f64,
    of_compactions: f64,
    of_rest: f64,
}

impl Table {
    fn of(replicates: &[&Figures]) -> Option<Self> {
        let places = replicates.iter().map(|figures| figures.len()).min()?;
        let row = |at: usize| replicates.iter().map(|figures| figures[at]).collect();
        let rows: Vec<Vec<f64>> = (0..places).filter_map(row).collect();
        if rows.is_empty() {
            return None;
        }
        let (n, r) = (rows.len() as f64, replicates.len() as f64);
        let mean = rows.iter().flatten().sum::<f64>() / (n * r);
        let by_probe: Vec<f64> = rows.iter().map(|row| row.iter().sum::<f64>() / r).collect();
        let by_replicate: Vec<f64> = (0..replicates.len())
            .map(|at| rows.iter().map(|row| row[at]).sum::<f64>() / n)
            .collect();
        let squares =
            |means: &[f64], each: f64| means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() * each;
        let rest = rows.iter().zip(&by_probe).flat_map(|(row, own)| {
            let by_replicate = &by_replicate;
            row.iter().zip(by_replicate).map(move |(y, other)| (y - own - other + mean).powi(2))
        });
        Some(Table {
            of_rest: rest.sum(),
            of_probes: squares(&by_probe, r),
            of_compactions: squares(&by_replicate, n),
            probes: n,
            replicates: r,
            mean,
        })
    }
}

/// The transcripts with a figure.
struct Layout(Vec<Table>);

impl Layout {
    fn sum(&self, of: impl Fn(&Table) -> f64) -> f64 {
        self.0.iter().map(of).sum()
    }

    fn mean(&self, of: impl Fn(&Table) -> f64) -> f64 {
        self.sum(of) / self.0.len() as f64
    }

    /// Variance of the rest and its degrees of freedom; `None` if no transcript
    /// has several probes and several replicates.
    fn rest(&self) -> Option<(f64, u64)> {
        let freedom = self.sum(|t| (t.probes - 1.0) * (t.replicates - 1.0));
        (freedom > 0.0).then(|| (self.sum(|t| t.of_rest) / freedom, freedom as u64))
    }

    fn compaction(&self, rest: f64) -> Estimate {
        let freedom = self.sum(|t| t.replicates - 1.0);
        if freedom < 1.0 {
            return Err(Absent::CompactedOnce);
        }
        let weight = self.sum(|t| (t.replicates - 1.0) * t.probes);
        Ok(((self.sum(|t| t.of_compactions) - rest * freedom) / weight, freedom as u64))
    }

    fn probe(&self, rest: f64) -> Estimate {
        let freedom = self.sum(|t| t.probes - 1.0);
        if freedom < 1.0 {
            return Err(Absent::AskedOnce);
        }
        let weight = self.sum(|t| (t.probes - 1.0) * t.replicates);
        Ok(((self.sum(|t| t.of_probes) - rest * freedom) / weight, freedom as u64))
    }

    fn transcript(&self, compaction: &Estimate, probe: &Estimate, rest: f64) -> Estimate {
        let n = self.0.len();
        if n < 2 {
            return Err(Absent::OneSession);
        }
        let centre = self.mean(|t| t.mean);
        let between = self.sum(|t| (t.mean - centre).powi(2)) / (n - 1) as f64;
        let known = |estimate: &Estimate| estimate.as_ref().map_or(0.0, |(variance, _)| *variance);
        let below = known(compaction) * self.mean(|t| 1.0 / t.replicates)
            + known(probe) * self.mean(|t| 1.0 / t.probes)
            + rest * self.mean(|t| 1.0 / (t.probes * t.replicates));
        Ok((between - below, n as u64 - 1))
    }
}

#[cfg(test)]
#[path = "variance_tests.rs"]
mod tests;
