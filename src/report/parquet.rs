//! `results.parquet`: the rows of `probes.csv` in typed columns, for data tools.

use super::{Format, Source, probes_csv};

pub(super) const FORMAT: Format = Format {
    name: "parquet",
    file: "results.parquet",
    about: "the rows of probes.csv in typed columns, for data tools",
    render,
};

fn render(source: &Source<'_>) -> Vec<u8> {
    probes_csv::rows(source).parquet()
}
