//! The figures of many cells, in little memory.
//!
//! A run of a million cells has more than a hundred figures of each. They are
//! written as bytes, and the bytes are compressed block by block.

use super::spec::{Contribution, Figures};
use recap_core::model::Absent;
use recap_core::packed::{pack, unpack};

/// Bytes of a block before it is compressed.
const BLOCK: usize = 8 << 10;

/// What an entry is.
#[derive(Clone, Copy, strum::FromRepr)]
#[repr(u8)]
enum Kind {
    One,
    Fraction,
    Many,
    Waits,
    Absent,
    Unknown,
}

/// A list that is only added to, and read from its beginning.
#[derive(Clone, Debug, Default)]
pub(super) struct PackedFigures {
    blocks: Vec<Box<[u8]>>,
    /// What is not compressed yet.
    tail: Vec<u8>,
    /// The different reasons why an entry has no figure.
    reasons: Vec<Absent>,
}

impl PackedFigures {
    /// Adds the contribution of a cell to a measure.
    pub fn push(&mut self, parts: &Contribution) {
        match parts {
            Contribution::One(value) => self.put(Kind::One, 1, [*value]),
            Contribution::Fraction { of, to } => self.put(Kind::Fraction, 2, [*of, *to]),
            Contribution::Many(values) => {
                self.put(Kind::Many, values.len(), values.iter().copied())
            }
            Contribution::Waits(waits) => {
                let each =
                    waits.iter().flat_map(|(wait, seen)| [*wait, f64::from(u8::from(*seen))]);
                self.put(Kind::Waits, 2 * waits.len(), each);
            }
            Contribution::Absent(reason) => self.put_reason(Kind::Absent, reason),
            Contribution::Unknown(reason) => self.put_reason(Kind::Unknown, reason),
        }
    }

    /// Adds the figures of a cell's requests or questions.
    pub fn push_figures(&mut self, figures: &Figures) {
        let each = figures.iter().map(|figure| figure.unwrap_or(f64::NAN));
        self.put(Kind::Many, figures.len(), each);
    }

    /// The contributions, in the order in which they were added.
    pub fn parts(&self) -> impl Iterator<Item = Contribution> {
        self.entries(|kind, values| match kind {
            Kind::One => Contribution::One(values[0]),
            Kind::Fraction => Contribution::Fraction { of: values[0], to: values[1] },
            Kind::Many => Contribution::Many(values),
            Kind::Waits => {
                Contribution::Waits(values.chunks(2).map(|wait| (wait[0], wait[1] > 0.0)).collect())
            }
            Kind::Absent => Contribution::Absent(self.reasons[values[0] as usize].clone()),
            Kind::Unknown => Contribution::Unknown(self.reasons[values[0] as usize].clone()),
        })
    }

    /// The lists of figures, in the order in which they were added.
    pub fn figures(&self) -> impl Iterator<Item = Figures> {
        let figure = |value: f64| (!value.is_nan()).then_some(value);
        self.entries(move |_, values| values.into_iter().map(figure).collect())
    }

    fn put_reason(&mut self, kind: Kind, reason: &Absent) {
        let known = self.reasons.iter().position(|other| other == reason);
        let at = known.unwrap_or_else(|| {
            self.reasons.push(reason.clone());
            self.reasons.len() - 1
        });
        self.put(kind, 1, [at as f64]);
    }

    fn put(&mut self, kind: Kind, count: usize, values: impl IntoIterator<Item = f64>) {
        self.tail.push(kind as u8);
        self.tail.extend((count as u32).to_le_bytes());
        values.into_iter().for_each(|value| self.tail.extend(value.to_le_bytes()));
        if self.tail.len() >= BLOCK {
            self.blocks.push(pack(&self.tail));
            self.tail.clear();
        }
    }

    fn entries<'a, T: 'a>(
        &'a self,
        entry: impl Fn(Kind, Vec<f64>) -> T + 'a,
    ) -> impl Iterator<Item = T> + 'a {
        let tail: Vec<T> = read(&self.tail).map(|(kind, values)| entry(kind, values)).collect();
        let unpacked = move |block: &'a [u8]| -> Vec<T> {
            read(&unpack(block)).map(|(kind, values)| entry(kind, values)).collect()
        };
        self.blocks.iter().map(AsRef::as_ref).flat_map(unpacked).chain(tail)
    }
}

/// The entries of a block.
fn read(mut bytes: &[u8]) -> impl Iterator<Item = (Kind, Vec<f64>)> {
    std::iter::from_fn(move || {
        let (kind, rest) = bytes.split_first()?;
        let (count, rest) = rest.split_first_chunk::<4>()?;
        let (values, rest) = rest.split_at(8 * u32::from_le_bytes(*count) as usize);
        bytes = rest;
        let value = |eight: &[u8]| f64::from_le_bytes(eight.try_into().expect("eight bytes"));
        Some((Kind::from_repr(*kind)?, values.chunks_exact(8).map(value).collect()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_as_they_were_across_blocks() {
        let each = [
            Contribution::One(0.1),
            Contribution::Fraction { of: -1.0, to: f64::MAX },
            Contribution::Many(vec![]),
            Contribution::Many((0..3_000).map(f64::from).collect()),
            Contribution::Waits(vec![(0.0, true), (7.5, false)]),
            Contribution::Absent(Absent::NoReferences),
            Contribution::Unknown(Absent::Price("m".to_owned())),
            Contribution::Absent(Absent::NothingMeasured),
        ];
        let all: Vec<Contribution> = each.iter().cycle().take(5_000).cloned().collect();
        let mut column = PackedFigures::default();
        all.iter().for_each(|parts| column.push(parts));
        // The long lists fill a block each, and all others share one.
        assert!((100..1_000).contains(&column.blocks.len()), "{}", column.blocks.len());
        assert!(column.parts().eq(all));
        assert_eq!(column.reasons.len(), 3);
    }

    #[test]
    fn figures_that_are_missing_stay_missing() {
        let each = [vec![Some(0.5), None, Some(0.0)], vec![], vec![None]];
        let mut column = PackedFigures::default();
        each.iter().for_each(|figures| column.push_figures(figures));
        assert!(column.figures().eq(each));
    }
}
