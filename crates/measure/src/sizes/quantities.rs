//! What one compaction changes: measured at the input's own recorded compactions from three on,
//! else at public recordings of the same agent, which stand beside the agents' settings
//! (`strategies/agents/settings.toml`). What is read again differs so much from compaction to
//! compaction that own figures are taken only where they are the surer ones.

use rand::{Rng, RngExt};

use crate::statistics::{Clusters, quantile};
use recap_core::model::{Quantities, Quantity, RecordedRow};

/// Fewest compactions that a figure of the input's own rests on.
pub(super) const FEWEST: usize = 3;

/// A draw of what a compaction adds and of what is read again behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Amounts {
    /// See [`Quantities::added`].
    pub added: f64,
    /// See [`Quantities::read_again`].
    pub read_again: f64,
}

/// The quantities of an agent, with what they were measured at.
pub(super) struct Measured {
    pub quantities: Quantities,
    /// What each of the input's own compactions added, and what was read again behind it.
    own: Vec<(f64, Option<f64>)>,
}

/// The input's own quantities, and where it has too few compactions those of public recordings;
/// `None` where neither is known.
pub(super) fn measured(rows: &[RecordedRow], public: Option<&Quantities>) -> Option<Measured> {
    let figures = |of: fn(&RecordedRow) -> Option<f64>| rows.iter().filter_map(of).collect();
    let median = |of, public: Option<Quantity>| known(median(figures(of)), public);
    let mean = |of, public: Option<Quantity>| surer(known(mean(figures(of)), public), public);
    let of = |quantity: fn(&Quantities) -> Quantity| public.map(quantity);
    let quantities = Quantities {
        added: median(|row| row.added(), of(|all| all.added))?,
        cached: median(|row| Some(row.read? as f64), of(|all| all.cached))?,
        output: median(|row| row.output(), of(|all| all.output))
            .or_else(|| median(|row| Some(row.facts.summary_tokens as f64), None))?,
        read_again: mean(|row| row.read_again(), of(|all| all.read_again))?,
        calls: mean(|row| row.calls(), of(|all| all.calls))?,
        wait_ms: median(|row| row.facts.wait_ms, of(|all| all.wait_ms)).unwrap_or_default(),
    };
    let own = rows.iter().filter_map(|row| Some((row.added()?, row.read_again()))).collect();
    Some(Measured { quantities, own })
}

/// An own figure where it rests on enough, else the public one.
fn known(own: Option<Quantity>, public: Option<Quantity>) -> Option<Quantity> {
    own.filter(|own| own.n as usize >= FEWEST).or(public)
}

/// The figure with the narrower interval.
fn surer(known: Option<Quantity>, public: Option<Quantity>) -> Option<Quantity> {
    let width = |of: &Quantity| of.hi - of.lo;
    known.map(|known| public.filter(|public| width(public) < width(&known)).unwrap_or(known))
}

/// The median of these with their quartiles.
fn median(mut figures: Vec<f64>) -> Option<Quantity> {
    figures.sort_by(f64::total_cmp);
    let at = |level| quantile(&figures, level);
    (!figures.is_empty()).then(|| Quantity {
        value: at(0.5),
        lo: at(0.25),
        hi: at(0.75),
        n: figures.len() as u64,
        own: true,
    })
}

/// The mean of these with its 95 % t interval.
fn mean(figures: Vec<f64>) -> Option<Quantity> {
    let n = figures.len() as u64;
    let each = Clusters::new(figures.into_iter().map(|figure| vec![figure]).collect());
    (n > 1).then(|| {
        let bounds = each.student();
        Quantity { value: each.mean(), lo: bounds.lo, hi: bounds.hi, n, own: true }
    })
}

impl Measured {
    /// What is the most likely.
    pub fn point(&self) -> Amounts {
        let Quantities { added, read_again, .. } = &self.quantities;
        Amounts { added: added.value, read_again: read_again.value }
    }

    /// The same, with what is read again at the upper end of its interval.
    pub fn much_read_again(&self) -> Amounts {
        Amounts { read_again: self.quantities.read_again.hi, ..self.point() }
    }

    /// What others of the kind may come to: own compactions are drawn anew, both figures
    /// together; of public ones the first lies between the quartiles, half of the time on either
    /// side of the median, and the second is normal.
    pub fn drawn(&self, rng: &mut impl Rng) -> Amounts {
        let Quantities { added, read_again, .. } = &self.quantities;
        let drawn: Vec<(f64, Option<f64>)> =
            self.own.iter().map(|_| self.own[rng.random_range(0..self.own.len())]).collect();
        let own_added = median(drawn.iter().map(|(added, _)| *added).collect());
        let own_again: Vec<f64> = drawn.iter().filter_map(|(_, again)| *again).collect();
        let (half, normal) = (rng.random_range(-1.0..1.0), standard_normal(rng));
        let side = if half < 0.0 { added.value - added.lo } else { added.hi - added.value };
        Amounts {
            added: match own_added.filter(|_| added.own) {
                Some(own) => own.value,
                None => added.value + half * side,
            },
            read_again: match read_again.own && !own_again.is_empty() {
                true => own_again.iter().sum::<f64>() / own_again.len() as f64,
                false => read_again.value + normal * (read_again.hi - read_again.lo) / (2.0 * 1.96),
            },
        }
    }
}

/// A draw from the standard normal distribution (Box and Muller 1958).
fn standard_normal(rng: &mut impl Rng) -> f64 {
    let (radius, angle): (f64, f64) = (rng.random_range(f64::MIN_POSITIVE..1.0), rng.random());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}
