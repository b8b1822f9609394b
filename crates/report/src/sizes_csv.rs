//! `sizes.csv`: what each session would have cost had its agent compacted at other sizes; and
//! `recorded_compactions.csv`: every compaction on record, with the prompts around it.

use std::io::{Result, Write};

use super::sheet::{self, Field};
use super::{Format, RenderInput};
use recap_core::model::{RecordedRow, RecordedTrigger, Report, SessionAtSize, UsedAgain};

pub(super) const SIZES: Format = Format {
    name: "csv",
    file: "sizes.csv",
    about: "one row per session and size at which its agent's compaction would have fired",
    render: sizes,
};

pub(super) const RECORDED: Format = Format {
    name: "csv",
    file: "recorded_compactions.csv",
    about: "one row per compaction on record, with the prompts around it",
    render: recorded,
};

const OF_SIZES: &str = "dataset,session,size,today_usd,usd,compactions_today,compactions,has_room";

const OF_RECORDED: &str = "dataset,session,request,trigger,first_prompt,prompt_before,\
    prompt_after,cache_read,summary_tokens,call_output,wait_ms,growth_before,growth_after,\
    reads_before,reads_after,used_again,in_summary,in_kept,came_back,nowhere";

fn sizes(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let report = source.report;
    let curve = report.curve.iter().flatten();
    let each = curve.flat_map(|curve| &curve.sizes);
    let rows = each.flat_map(|row| row.by_session.iter().map(|one| (row.size, one)));
    sheet::csv(OF_SIZES, rows.map(|(size, one)| at_size(report, size, one)), out)
}

fn at_size(report: &Report, size: u64, one: &SessionAtSize) -> Vec<Field> {
    let [dataset, session] = named(report, one.session);
    vec![
        dataset,
        session,
        Field::Count(size),
        Field::Dollars(one.today_usd),
        Field::Dollars(one.usd),
        Field::Count(one.recorded),
        Field::Count(one.compactions),
        Field::Flag(one.room),
    ]
}

fn recorded(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let report = source.report;
    let rows = report.recorded_compactions.iter().map(|row| compaction(report, row));
    sheet::csv(OF_RECORDED, rows, out)
}

fn compaction(report: &Report, row: &RecordedRow) -> Vec<Field> {
    let [dataset, session] = named(report, row.session);
    let count = |tokens: Option<u64>| tokens.map_or(Field::Empty, Field::Count);
    let signed = |tokens: Option<i64>| Field::maybe(tokens.map(|tokens| tokens as f64));
    let facts = &row.facts;
    let again =
        |part: fn(&UsedAgain) -> u32| count(facts.used_again.map(|used| part(&used).into()));
    let trigger = match facts.trigger {
        RecordedTrigger::Auto => "auto",
        RecordedTrigger::Manual => "manual",
        RecordedTrigger::Unknown => "unknown",
    };
    vec![
        dataset,
        session,
        Field::Count(row.request as u64),
        Field::text(trigger),
        count(row.first),
        count(row.before),
        Field::Count(row.behind),
        count(row.read),
        Field::Count(facts.summary_tokens),
        count(facts.call.as_ref().map(|call| call.usage.output)),
        Field::maybe(facts.wait_ms),
        signed(row.growth_before),
        signed(row.growth_behind),
        count(facts.reads.map(|(before, _)| u64::from(before))),
        count(facts.reads.map(|(_, behind)| u64::from(behind))),
        again(UsedAgain::all),
        again(|used| used.summary),
        again(|used| used.kept),
        again(|used| used.came_back),
        again(|used| used.nowhere),
    ]
}

fn named(report: &Report, session: usize) -> [Field; 2] {
    let facts = &report.sessions[session];
    [Field::text(&facts.dataset), Field::text(&facts.session)]
}
