//! `results.parquet`: the rows of `probes.csv` in typed columns, for data tools.

use std::io::{Result, Write};

use super::sheet::Table;
use super::{Format, Source, probes_csv};

pub(super) const FORMAT: Format = Format {
    name: "parquet",
    file: "results.parquet",
    about: "the rows of probes.csv in typed columns, for data tools",
    render,
};

fn render(source: &Source<'_>, out: &mut dyn Write) -> Result<()> {
    let (header, rows) = probes_csv::rows(source);
    out.write_all(&Table::new(header, rows).parquet())
}
