//! `facts.csv`: every fact at a cut, and what became of it
//! under each strategy.

use std::io::{Result, Write};

use super::cuts_csv;
use super::sheet::{self, Field};
use super::{Format, RenderInput};
use recap_core::model::{Cut, CutRow, Report};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "facts.csv",
    about: "one row per fact and strategy: verbatim, carried, bare, partial, recovered or lost",
    render,
};

const COLUMNS: &str = "request,requests_after,fact,class,last_seen,state,over_window";

fn render(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let header = format!("{},{COLUMNS}", cuts_csv::KEY);
    let report = source.report;
    sheet::csv_with(&header, out, |push| {
        report.results.iter().try_for_each(|session| {
            let mut rows = cuts_csv::rows(&session);
            rows.try_for_each(|(cut, row)| {
                fact_rows(report, cut, row).into_iter().try_for_each(&mut *push)
            })
        })
    })
}

fn fact_rows(report: &Report, cut: &Cut, row: &CutRow) -> Vec<Vec<Field>> {
    let Some(exam) = row.exam() else { return Vec::new() };
    let facts = report.facts_of(&cut.dataset, &cut.session);
    let numbered = (0u32..).zip(cut.facts.iter().zip(&exam.states));
    let each = numbered.map(|(number, (fact, state))| {
        let message = facts.and_then(|facts| facts.messages.get(fact.last_seen as usize));
        let mut fields = cuts_csv::key(cut, row);
        fields.extend([
            Field::Count(u64::from(fact.request)),
            Field::Count(u64::from(fact.request - cut.request + 1)),
            Field::text(&fact.text),
            Field::text(fact.class.as_str()),
            Field::maybe_text(message.map(|m| m.id.as_str())),
            Field::text(state.as_str()),
            Field::Flag(exam.refused.contains(&number)),
        ]);
        fields
    });
    each.collect()
}
