//! From cells to rows: grouping and pooling by polars, eagerly.
//!
//! Invariant: a cell without a figure for a measure is a null, which no mean,
//! sum, maximum or median takes in.

use std::collections::BTreeMap;

use polars::prelude::{Column, DataFrame, GroupBy, NamedFrom, PolarsResult, Series};

use super::cluster::Owner;
use super::measures::MEASURES;
use super::pooling::{self, PooledUnit};
use super::spec::{Parts, Pool};
use super::waiting::km_median;

/// What one cell contributes to one row.
pub struct Observation {
    /// The row.
    pub row: u32,
    /// The transcript, so that replicates are averaged before transcripts are.
    pub unit: u32,
    /// One entry per measure, in the order of [`MEASURES`].
    pub parts: Vec<Parts>,
}

/// The figures of rows, and of their transcripts.
#[derive(Default)]
pub struct Pooled {
    rows: BTreeMap<(u32, &'static str), f64>,
    units: BTreeMap<(u32, u32, &'static str), f64>,
    /// Facts at stake of the transcripts, for [`Pool::AtCuts`].
    facts: BTreeMap<(u32, u32, &'static str), f64>,
}

impl Pooled {
    /// A row's figure.
    pub fn row(&self, row: u32, id: &str) -> Option<f64> {
        let spec = MEASURES.iter().find(|s| s.id == id)?;
        self.rows.get(&(row, spec.id)).copied()
    }

    /// The facts at stake that a transcript's figure in a row rests on; `None`
    /// of measures that are not pooled by them.
    pub fn facts(&self, row: u32, unit: u32, id: &str) -> Option<f64> {
        let spec = MEASURES.iter().find(|s| s.id == id)?;
        self.facts.get(&(row, unit, spec.id)).copied()
    }

    /// A figure of one transcript in a row, its replicates averaged.
    pub fn unit(&self, row: u32, unit: u32, id: &str) -> Option<f64> {
        let spec = MEASURES.iter().find(|s| s.id == id)?;
        self.units.get(&(row, unit, spec.id)).copied()
    }
}

/// Who is known to be behind each transcript.
pub type Owners<'a> = [Option<Owner<'a>>];

/// Pools observations into rows. Observations come sorted by cell key, so
/// that sums are taken in one order.
pub fn pool(observations: &[Observation], owners: &Owners<'_>) -> Pooled {
    let mut pooled = Pooled::default();
    if !observations.is_empty() {
        at_cuts(observations, owners, &mut pooled);
        waits(observations, &mut pooled);
        tables(observations, &mut pooled)
            .expect("columns have one entry per observation and their names are unique");
    }
    pooled
}

fn tables(observations: &[Observation], pooled: &mut Pooled) -> PolarsResult<()> {
    let cells = cell_table(observations)?;
    let units = means(cells.group_by_stable(["row", "unit"])?, &averaged())?;
    read_units(&units, pooled)?;

    let by_row = || units.group_by_stable(["row"]);
    read(&means(by_row()?, &of_pool(&[Pool::Mean]))?, pooled)?;
    let fractions = of_pool(&[Pool::RatioOfSums]);
    let denominators: Vec<String> = fractions.iter().map(|id| denominator(id)).collect();
    let summed: Vec<String> = of_pool(&[Pool::Sum])
        .into_iter()
        .chain(fractions.iter().cloned())
        .chain(denominators.iter().cloned())
        .collect();
    let sums = sums(by_row()?, &summed)?;
    read_sums(&sums, &units, pooled)?;
    read(&maxima(cells.group_by_stable(["row"])?, &of_pool(&[Pool::Max]))?, pooled)?;
    let items = item_table(observations)?;
    read_items(&medians(items.group_by_stable(["row", "measure"])?)?, pooled)?;
    percentiles(observations, pooled);
    Ok(())
}

/// Shares of facts at stake, for which polars knows no pooling (`cuts` §3).
fn at_cuts(observations: &[Observation], owners: &Owners<'_>, pooled: &mut Pooled) {
    // Numerators, denominators and replicates of each transcript.
    type Sums = (f64, f64, f64);
    let mut sums: BTreeMap<(u32, &'static str), BTreeMap<u32, Sums>> = BTreeMap::new();
    for observation in observations {
        for (spec, parts) in MEASURES.iter().zip(&observation.parts) {
            if let (Pool::AtCuts, Parts::Fraction { of, to }) = (spec.pool, parts) {
                let units = sums.entry((observation.row, spec.id)).or_default();
                let unit = units.entry(observation.unit).or_default();
                *unit = (unit.0 + of, unit.1 + to, unit.2 + 1.0);
            }
        }
    }
    for ((row, id), units) in sums {
        let each = units.iter().map(|(unit, (of, to, replicates))| {
            let owner = owners.get(*unit as usize).copied().flatten();
            (*unit, PooledUnit { owner, facts: to / replicates, share: of / to })
        });
        let each: Vec<(u32, PooledUnit<'_>)> = each.collect();
        for (unit, one) in &each {
            pooled.units.insert((row, *unit, id), one.share);
            pooled.facts.insert((row, *unit, id), one.facts);
        }
        let units: Vec<PooledUnit<'_>> = each.into_iter().map(|(_, one)| one).collect();
        pooled.rows.insert((row, id), pooling::pooled(&units).mean());
    }
}

/// Medians of waits of which some ended unseen.
fn waits(observations: &[Observation], pooled: &mut Pooled) {
    let mut listed: BTreeMap<(u32, &'static str), Vec<(f64, bool)>> = BTreeMap::new();
    for observation in observations {
        for (spec, parts) in MEASURES.iter().zip(&observation.parts) {
            if let Parts::Waits(waits) = parts {
                listed.entry((observation.row, spec.id)).or_default().extend(waits);
            }
        }
    }
    for (key, waits) in listed {
        if let Some(median) = km_median(&waits) {
            pooled.rows.insert(key, median);
        }
    }
}

/// Nearest ranks, for which polars would have to sort each group as well.
fn percentiles(observations: &[Observation], pooled: &mut Pooled) {
    let mut listed: BTreeMap<(u32, &'static str, u8), Vec<f64>> = BTreeMap::new();
    for observation in observations {
        for (spec, parts) in MEASURES.iter().zip(&observation.parts) {
            if let (Pool::Percentile(percent), Parts::Many(values)) = (spec.pool, parts) {
                let key = (observation.row, spec.id, percent);
                listed.entry(key).or_default().extend(values);
            }
        }
    }
    for ((row, id, percent), mut values) in listed {
        values.sort_by(f64::total_cmp);
        let rank = (values.len() * usize::from(percent)).div_ceil(100).max(1);
        if let Some(value) = values.get(rank - 1) {
            pooled.rows.insert((row, id), *value);
        }
    }
}

/// Ids of the measures that are pooled in one of these ways.
fn of_pool(pools: &[Pool]) -> Vec<String> {
    let chosen = MEASURES.iter().filter(|s| pools.contains(&s.pool));
    chosen.map(|s| s.id.to_owned()).collect()
}

fn denominator(id: &str) -> String {
    format!("{id} to")
}

/// Columns of which replicates are averaged.
fn averaged() -> Vec<String> {
    let mut ids = of_pool(&[Pool::Mean, Pool::Sum, Pool::RatioOfSums]);
    ids.extend(of_pool(&[Pool::RatioOfSums]).iter().map(|id| denominator(id)));
    ids
}

/// One line per observation: row, unit, and a column per figure.
fn cell_table(observations: &[Observation]) -> PolarsResult<DataFrame> {
    let mut columns = vec![
        codes("row", observations.iter().map(|o| o.row)),
        codes("unit", observations.iter().map(|o| o.unit)),
    ];
    let lists =
        |pool| matches!(pool, Pool::Median | Pool::Percentile(_) | Pool::WaitMedian | Pool::AtCuts);
    for (at, spec) in MEASURES.iter().enumerate().filter(|(_, s)| !lists(s.pool)) {
        let figures = observations.iter().map(|o| match &o.parts[at] {
            Parts::One(value) | Parts::Fraction { of: value, .. } => Some(*value),
            Parts::Many(_) | Parts::Waits(_) | Parts::Absent(_) | Parts::Unknown(_) => None,
        });
        columns.push(numbers(spec.id, figures));
        if spec.pool == Pool::RatioOfSums {
            let figures = observations.iter().map(|o| match &o.parts[at] {
                Parts::Fraction { to, .. } => Some(*to),
                _ => None,
            });
            columns.push(numbers(&denominator(spec.id), figures));
        }
    }
    DataFrame::new(observations.len(), columns)
}

/// One line per listed figure: row, measure, value.
fn item_table(observations: &[Observation]) -> PolarsResult<DataFrame> {
    let mut lines: Vec<(u32, u32, f64)> = Vec::new();
    for observation in observations {
        for (at, (spec, parts)) in (0u32..).zip(MEASURES.iter().zip(&observation.parts)) {
            if let (Pool::Median, Parts::Many(values)) = (spec.pool, parts) {
                lines.extend(values.iter().map(|value| (observation.row, at, *value)));
            }
        }
    }
    DataFrame::new(
        lines.len(),
        vec![
            codes("row", lines.iter().map(|l| l.0)),
            codes("measure", lines.iter().map(|l| l.1)),
            numbers("value", lines.iter().map(|l| Some(l.2))),
        ],
    )
}

fn codes(name: &str, values: impl Iterator<Item = u32>) -> Column {
    Series::new(name.into(), values.collect::<Vec<u32>>()).into()
}

fn numbers(name: &str, values: impl Iterator<Item = Option<f64>>) -> Column {
    Series::new(name.into(), values.collect::<Vec<Option<f64>>>()).into()
}

/// The eager aggregations are marked deprecated in favour of lazy frames,
/// which double the cold build (`Cargo.toml`); they are kept in one place.
macro_rules! aggregation {
    ($name:ident, $method:ident, $suffix:literal) => {
        #[expect(deprecated, reason = "lazy frames double the cold build")]
        fn $name(groups: GroupBy<'_>, columns: &[String]) -> PolarsResult<DataFrame> {
            let mut frame = groups.select(columns.iter().map(String::as_str)).$method()?;
            for column in columns {
                frame.rename(&format!("{column}{}", $suffix), column.as_str().into())?;
            }
            Ok(frame)
        }
    };
}
aggregation!(means, mean, "_mean");
aggregation!(sums, sum, "_sum");
aggregation!(maxima, max, "_max");

#[expect(deprecated, reason = "lazy frames double the cold build")]
fn medians(groups: GroupBy<'_>) -> PolarsResult<DataFrame> {
    groups.select(["value"]).median()
}

/// The entries of a column of codes.
fn read_codes(frame: &DataFrame, name: &str) -> PolarsResult<Vec<u32>> {
    Ok(frame.column(name)?.u32()?.no_null_iter().collect())
}

/// The entries of a column of figures.
fn read_numbers(frame: &DataFrame, name: &str) -> PolarsResult<Vec<Option<f64>>> {
    Ok(frame.column(name)?.f64()?.iter().collect())
}

fn read_units(units: &DataFrame, pooled: &mut Pooled) -> PolarsResult<()> {
    let rows = read_codes(units, "row")?;
    let codes = read_codes(units, "unit")?;
    for spec in MEASURES.iter().filter(|s| matches!(s.pool, Pool::Mean | Pool::Sum)) {
        for ((row, unit), value) in rows.iter().zip(&codes).zip(read_numbers(units, spec.id)?) {
            if let Some(value) = value {
                pooled.units.insert((*row, *unit, spec.id), value);
            }
        }
    }
    Ok(())
}

/// Takes over every column of the frame that is a measure.
fn read(frame: &DataFrame, pooled: &mut Pooled) -> PolarsResult<()> {
    let rows = read_codes(frame, "row")?;
    for spec in MEASURES {
        if frame.column(spec.id).is_err() {
            continue;
        }
        for (row, value) in rows.iter().zip(read_numbers(frame, spec.id)?) {
            if let Some(value) = value {
                pooled.rows.insert((*row, spec.id), value);
            }
        }
    }
    Ok(())
}

/// Sums and ratios of sums. polars sums nulls to zero, so a row counts only
/// where some transcript of it has a figure.
fn read_sums(sums: &DataFrame, units: &DataFrame, pooled: &mut Pooled) -> PolarsResult<()> {
    let rows = read_codes(sums, "row")?;
    let unit_rows = read_codes(units, "row")?;
    for spec in MEASURES.iter().filter(|s| matches!(s.pool, Pool::Sum | Pool::RatioOfSums)) {
        let values = read_numbers(sums, spec.id)?;
        let over = match spec.pool {
            Pool::RatioOfSums => read_numbers(sums, &denominator(spec.id))?,
            _ => vec![Some(1.0); values.len()],
        };
        let present = read_numbers(units, spec.id)?;
        let known: std::collections::BTreeSet<u32> =
            unit_rows.iter().zip(&present).filter_map(|(row, value)| value.map(|_| *row)).collect();
        for ((row, of), to) in rows.iter().zip(values).zip(over) {
            if let (true, Some(of), Some(to)) = (known.contains(row), of, to) {
                pooled.rows.insert((*row, spec.id), of / to);
            }
        }
    }
    Ok(())
}

fn read_items(medians: &DataFrame, pooled: &mut Pooled) -> PolarsResult<()> {
    let rows = read_codes(medians, "row")?;
    let measures = read_codes(medians, "measure")?;
    for ((row, at), value) in rows.iter().zip(measures).zip(read_numbers(medians, "value_median")?)
    {
        if let Some(value) = value {
            pooled.rows.insert((*row, MEASURES[at as usize].id), value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An observation that has only one measure.
    fn observation(row: u32, unit: u32, id: &str, part: Parts) -> Observation {
        let parts = MEASURES
            .iter()
            .map(|s| if s.id == id { part.clone() } else { Parts::Absent("not in this test") });
        Observation { row, unit, parts: parts.collect() }
    }

    #[test]
    fn replicates_are_averaged_before_transcripts() {
        // Transcript 0 was replayed twice (0.2, 0.4), transcript 1 once (0.9):
        // (0.3 + 0.9) / 2 = 0.6, not (0.2 + 0.4 + 0.9) / 3 = 0.5.
        let id = "reference_recall";
        let pooled = pool(
            &[
                observation(0, 0, id, Parts::One(0.2)),
                observation(0, 0, id, Parts::One(0.4)),
                observation(0, 1, id, Parts::One(0.9)),
            ],
            &[],
        );
        assert!((pooled.row(0, id).unwrap() - 0.6).abs() < 1e-12);
        assert!((pooled.unit(0, 0, id).unwrap() - 0.3).abs() < 1e-12);
    }

    #[test]
    fn missing_scores_never_move_a_mean_or_a_sum() {
        let id = "reference_recall";
        let pooled = pool(
            &[
                observation(0, 0, id, Parts::One(0.5)),
                observation(0, 1, id, Parts::Absent("no references")),
                observation(1, 0, "refetch_tokens", Parts::Absent("no references")),
            ],
            &[],
        );
        assert_eq!(pooled.row(0, id), Some(0.5));
        assert_eq!(pooled.row(1, id), None);
        assert_eq!(pooled.row(1, "refetch_tokens"), None, "a sum of nothing is not zero");
    }

    #[test]
    fn tokens_are_a_ratio_of_sums() {
        // 1 − (10 + 900) / (100 + 1,000) = 190 / 1,100, not (0.9 + 0.1) / 2.
        let id = "token_savings";
        let pooled = pool(
            &[
                observation(0, 0, id, Parts::Fraction { of: 90.0, to: 100.0 }),
                observation(0, 1, id, Parts::Fraction { of: 100.0, to: 1_000.0 }),
            ],
            &[],
        );
        assert!((pooled.row(0, id).unwrap() - 190.0 / 1_100.0).abs() < 1e-12);
    }

    #[test]
    fn a_median_is_taken_over_everything_listed_and_a_maximum_over_every_cell() {
        let id = "compression_ratio";
        let pooled = pool(
            &[
                observation(0, 0, id, Parts::Many(vec![0.1, 0.2])),
                observation(0, 1, id, Parts::Many(vec![0.9])),
                observation(1, 0, "peak_tokens", Parts::One(7.0)),
                observation(1, 0, "peak_tokens", Parts::One(9.0)),
            ],
            &[],
        );
        assert_eq!(pooled.row(0, id), Some(0.2));
        assert_eq!(pooled.row(1, "peak_tokens"), Some(9.0));
    }

    #[test]
    fn a_percentile_is_the_figure_at_the_nearest_rank_over_every_cell() {
        // Of 21 waits 0…20 the 95th percentile is the 20th (0.95 · 21 = 19.95),
        // the 50th the 11th (10.5).
        let waits = |from: u32, to| (from..to).map(f64::from).collect();
        let pooled = pool(
            &[
                observation(0, 0, "blocking_ms_p95", Parts::Many(waits(10, 21))),
                observation(0, 1, "blocking_ms_p95", Parts::Many(waits(0, 10))),
                observation(0, 0, "blocking_ms_p50", Parts::Many(waits(0, 21))),
            ],
            &[],
        );
        assert_eq!(pooled.row(0, "blocking_ms_p95"), Some(19.0));
        assert_eq!(pooled.row(0, "blocking_ms_p50"), Some(10.0));
    }

    #[test]
    fn no_observation_gives_no_row() {
        assert_eq!(pool(&[], &[]).row(0, "requests"), None);
    }
}
