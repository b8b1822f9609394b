//! The figures of sessions: how those of replicates become one, how those of sessions become
//! that of a row, and how many of them are held in little memory.
//!
//! Invariant: a cell without a figure for a measure is left out; it changes no
//! mean, sum or maximum.

pub(crate) mod against_full;
pub(crate) mod by_session;
pub(crate) mod exams;
pub(crate) mod money;
pub(crate) mod paired;
pub(crate) mod rows;
pub(crate) mod spec;
pub(crate) mod table;

use crate::figures::spec::{Contribution, Pool, mean};
use crate::statistics::pooling::{self, Owner};
use recap_core::model::Absent;
use recap_core::packed::{pack, unpack};

/// What cells or sessions contribute to a measure, by kind.
#[derive(Default)]
struct Contributed<'a> {
    /// Figures, and numerators of fractions.
    ones: Vec<f64>,
    /// Denominators of fractions.
    tos: Vec<f64>,
    /// Projects or developers of what contributes a fraction, where known.
    owners: Vec<Option<Owner<'a>>>,
    many: Vec<f64>,
}

impl<'a> Contributed<'a> {
    /// Collects them, and the first reason why one is absent. The error is the first one of what
    /// is unknown.
    fn of(
        each: impl Iterator<Item = (Option<Owner<'a>>, Contribution)>,
    ) -> Result<(Self, Absent), Absent> {
        let (mut all, mut absent) = (Self::default(), None);
        for (owner, own) in each {
            match own {
                Contribution::One(value) => all.ones.push(value),
                Contribution::Fraction { of, to } => {
                    all.ones.push(of);
                    all.tos.push(to);
                    all.owners.push(owner);
                }
                Contribution::Many(values) => all.many.extend(values),
                Contribution::Absent(reason) => absent = absent.or(Some(reason)),
                Contribution::Unknown(reason) => return Err(reason),
            }
        }
        Ok((all, absent.unwrap_or(Absent::NothingMeasured)))
    }
}

impl Pool {
    /// The contribution of a session from those of its cells, which are its replicates. It is
    /// unknown if that of one of them is.
    pub(crate) fn over_replicates(self, each: impl Iterator<Item = Contribution>) -> Contribution {
        let (Contributed { ones, tos, many, .. }, absent) =
            match Contributed::of(each.map(|own| (None, own))) {
                Ok(all) => all,
                Err(unknown) => return Contribution::Unknown(unknown),
            };
        let figure = match self {
            Pool::Mean | Pool::Sum => mean(ones).map(Contribution::One),
            Pool::Max => ones.into_iter().reduce(f64::max).map(Contribution::One),
            Pool::Percentile(_) => (!many.is_empty()).then_some(Contribution::Many(many)),
            Pool::RatioOfSums | Pool::AtCuts => {
                mean(ones).zip(mean(tos)).map(|(of, to)| Contribution::Fraction { of, to })
            }
        };
        figure.unwrap_or(Contribution::Absent(absent))
    }

    /// The figure of a row from those of its sessions, each with its project or developer, or
    /// the first reason why there is none. Sessions are in the order of their keys, so that
    /// sums are always computed in the same order.
    pub(crate) fn over_sessions<'a>(
        self,
        sessions: impl Iterator<Item = (Option<Owner<'a>>, Contribution)>,
    ) -> Result<f64, Absent> {
        let (Contributed { ones, tos, owners, mut many }, absent) = Contributed::of(sessions)?;
        many.sort_by(f64::total_cmp);
        let figure = match self {
            Pool::Percentile(percent) => nearest_rank(&many, percent),
            _ if ones.is_empty() => None,
            Pool::Mean => mean(ones),
            Pool::Sum => Some(ones.iter().sum()),
            Pool::Max => ones.into_iter().reduce(f64::max),
            Pool::RatioOfSums => Some(ones.iter().sum::<f64>() / tos.iter().sum::<f64>()),
            Pool::AtCuts => {
                let shares = ones.iter().zip(&tos).map(|(of, to)| (*to, of / to));
                let units = owners.into_iter().zip(shares);
                Some(pooling::pooled(units.map(|(owner, (to, share))| (owner, to, share))).mean())
            }
        };
        figure.ok_or(absent)
    }
}

/// That percentile of sorted figures, by nearest rank.
pub(crate) fn nearest_rank(sorted: &[f64], percent: u8) -> Option<f64> {
    let rank = (sorted.len() * usize::from(percent)).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// Bytes of a block before it is compressed.
const BLOCK: usize = 8 << 10;

/// A list that is only added to, and read from its beginning. An entry is its kind, the number of
/// its values, and these.
///
/// A run of a million cells has dozens of figures of each. They are written as bytes, and the
/// bytes are compressed block by block.
#[derive(Clone, Debug, Default)]
pub(crate) struct PackedFigures {
    blocks: Vec<Box<[u8]>>,
    /// What is not compressed yet.
    tail: Vec<u8>,
    /// The different reasons why an entry has no figure.
    reasons: Vec<Absent>,
}

impl PackedFigures {
    /// Adds the contribution of a session to a measure.
    pub fn push(&mut self, own: &Contribution) {
        match own {
            Contribution::One(value) => self.put(b'1', &[*value]),
            Contribution::Fraction { of, to } => self.put(b'/', &[*of, *to]),
            Contribution::Many(values) => self.put(b'*', values),
            Contribution::Absent(reason) => self.put_reason(b'-', reason),
            Contribution::Unknown(reason) => self.put_reason(b'?', reason),
        }
    }

    /// The contributions, in the order in which they were added.
    pub fn contributions(&self) -> impl Iterator<Item = Contribution> {
        let blocks = self.blocks.iter().map(|block| unpack(block)).chain([self.tail.clone()]);
        let entries = blocks.flat_map(|block| read(&block).collect::<Vec<_>>());
        entries.map(|(kind, values)| match kind {
            b'1' => Contribution::One(values[0]),
            b'/' => Contribution::Fraction { of: values[0], to: values[1] },
            b'*' => Contribution::Many(values),
            b'-' => Contribution::Absent(self.reasons[values[0] as usize].clone()),
            _ => Contribution::Unknown(self.reasons[values[0] as usize].clone()),
        })
    }

    fn put_reason(&mut self, kind: u8, reason: &Absent) {
        let known = self.reasons.iter().position(|other| other == reason);
        let at = known.unwrap_or_else(|| {
            self.reasons.push(reason.clone());
            self.reasons.len() - 1
        });
        self.put(kind, &[at as f64]);
    }

    fn put(&mut self, kind: u8, values: &[f64]) {
        self.tail.push(kind);
        self.tail.extend((values.len() as u32).to_le_bytes());
        values.iter().for_each(|value| self.tail.extend(value.to_le_bytes()));
        if self.tail.len() >= BLOCK {
            self.blocks.push(pack(&self.tail));
            self.tail.clear();
        }
    }
}

/// The entries of a block.
fn read(mut bytes: &[u8]) -> impl Iterator<Item = (u8, Vec<f64>)> {
    std::iter::from_fn(move || {
        let (kind, rest) = bytes.split_first()?;
        let (count, rest) = rest.split_first_chunk::<4>()?;
        let (values, rest) = rest.split_at(8 * u32::from_le_bytes(*count) as usize);
        bytes = rest;
        let value = |eight: &[u8]| f64::from_le_bytes(eight.try_into().expect("eight bytes"));
        Some((*kind, values.chunks_exact(8).map(value).collect()))
    })
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;
    use crate::measures::spec_of;

    const fn fraction(of: f64, to: f64) -> Contribution {
        Contribution::Fraction { of, to }
    }

    /// The contribution of each session to a measure, from those of its replicates.
    fn sessions(id: &str, of: &[&[Contribution]]) -> Vec<Contribution> {
        let pool = spec_of(id).unwrap().pool;
        of.iter().map(|replicates| pool.over_replicates(replicates.iter().cloned())).collect()
    }

    /// The figure of a row with these contributions of replicates, session by session.
    fn row(id: &str, of: &[&[Contribution]]) -> Result<f64, Absent> {
        let each = sessions(id, of).into_iter().map(|own| (None, own));
        spec_of(id).unwrap().pool.over_sessions(each)
    }

    #[track_caller]
    fn near(found: Result<f64, Absent>, expected: f64) {
        let found = found.unwrap();
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn replicates_are_averaged_before_sessions() {
        // Session 0 was replayed twice (0.2, 0.4), session 1 once (0.9):
        // (0.3 + 0.9) / 2 = 0.6, not (0.2 + 0.4 + 0.9) / 3 = 0.5.
        let one = Contribution::One;
        near(row("reference_recall", &[&[one(0.2), one(0.4)], &[one(0.9)]]), 0.6);
    }

    #[test]
    fn missing_scores_never_change_mean_or_sum() {
        let absent = Contribution::Absent(Absent::NoReferences);
        let half = Contribution::One(0.5);
        near(row("reference_recall", &[&[half.clone(), absent.clone()], from_ref(&absent)]), 0.5);
        // A sum of nothing is not zero.
        assert_eq!(row("tokens_sent", &[from_ref(&absent)]), Err(Absent::NoReferences));
        assert_eq!(row("tokens_sent", &[]), Err(Absent::NothingMeasured));
        let unknown = Contribution::Unknown(Absent::SomePrice);
        assert_eq!(row("cost_usd", &[&[half], &[absent, unknown]]), Err(Absent::SomePrice));
    }

    #[test]
    fn tokens_are_a_ratio_of_sums() {
        // 1 − (10 + 900) / (100 + 1,000) = 190 / 1,100, not (0.9 + 0.1) / 2.
        let sessions: [&[_]; 2] = [&[fraction(90.0, 100.0)], &[fraction(100.0, 1_000.0)]];
        near(row("token_savings", &sessions), 190.0 / 1_100.0);
    }

    #[test]
    fn maximum_covers_every_cell() {
        near(row("peak_tokens", &[&[Contribution::One(7.0), Contribution::One(9.0)]]), 9.0);
    }

    #[test]
    fn percentile_is_nearest_rank_figure_over_all_cells() {
        // Of 21 waits 0…20 the 95th percentile is the 20th (0.95 · 21 = 19.95).
        let waits = |from: u32, to| Contribution::Many((from..to).map(f64::from).collect());
        let each: [&[_]; 2] = [&[waits(10, 21)], &[waits(0, 4), waits(4, 10)]];
        near(row("blocking_ms_p95", &each), 19.0);
        // Of four, half are the first two: the median is the second.
        let four = [0.0, 1.0, 2.0, 3.0];
        assert_eq!([50, 51, 0].map(|p| nearest_rank(&four, p)), [1.0, 2.0, 0.0].map(Some));
        assert_eq!(nearest_rank(&[], 95), None);
    }

    #[test]
    fn cut_shares_average_replicates_and_weight_by_facts() {
        // Of ten facts 3 and 5 are kept in two replicates, of twenty 10:
        // (10 · 0.4 + 20 · 0.5) / 30.
        let each: [&[_]; 2] =
            [&[fraction(3.0, 10.0), fraction(5.0, 10.0)], &[fraction(10.0, 20.0)]];
        assert_eq!(sessions("facts_kept", &each), [fraction(4.0, 10.0), fraction(10.0, 20.0)]);
        near(row("facts_kept", &each), 14.0 / 30.0);
    }

    #[test]
    fn entries_come_back_as_they_were_across_blocks() {
        let each = [
            Contribution::One(0.1),
            fraction(-1.0, f64::MAX),
            Contribution::Many(vec![]),
            Contribution::Many((0..3_000).map(f64::from).collect()),
            Contribution::Absent(Absent::NoReferences),
            Contribution::Unknown(Absent::Price("m".to_owned())),
            Contribution::Absent(Absent::NothingMeasured),
        ];
        let all: Vec<Contribution> = each.iter().cycle().take(5_000).cloned().collect();
        let mut column = PackedFigures::default();
        all.iter().for_each(|own| column.push(own));
        // The long lists fill a block each, and all others share one.
        assert!((100..1_000).contains(&column.blocks.len()), "{}", column.blocks.len());
        assert!(column.contributions().eq(all));
        assert_eq!(column.reasons.len(), 3);
    }
}
