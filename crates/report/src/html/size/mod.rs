//! The answer where it is the size at which an agent compacts: one sentence, the setting, the
//! curve of the bill, what a compaction costs, and each session. Works without a script.

mod chart;

use askama::Template;

use super::answer::Problems;
use super::trust::gate;
use crate::document::absent;
use crate::{number, plain, short_ids};
use recap_core::model::{
    Quantities, Quantity, Recommendation, Report, SessionAtSize, Setting, SizeCurve, SizeRow,
};
use recap_core::text::{counted, form_for};
use recap_core::wording;

use chart::Chart;

/// Sessions that stand open; the others are folded away.
const OPEN: usize = 8;
/// Sessions that have a row: all of them are in `sizes.csv`.
const LISTED: usize = 200;
/// Sessions without a bill that are named.
const LEFT_OUT: usize = 3;

/// The answer.
#[derive(Template)]
#[template(path = "size/size.html")]
pub(super) struct Answer {
    run: [String; 2],
    sentence: String,
    rest: String,
    gate: Option<gate::GatePanel>,
    apply: Option<Setting>,
    /// A figure and what it is.
    figures: Vec<[String; 2]>,
    chart: Chart,
}

/// What a compaction costs, each session, how sure all that is, and the table of sizes.
pub(super) struct Sections {
    pub(super) agent: String,
    pub(super) quantities: Vec<Costs>,
    /// The size that sessions are shown at.
    pub(super) size: String,
    pub(super) sessions: Vec<Session>,
    pub(super) folded: Vec<Session>,
    /// How many have no row.
    pub(super) more: usize,
    pub(super) sure: Vec<String>,
    pub(super) problems: Problems,
    /// What a replay at the limit tells those who build a harness of their own.
    pub(super) harness: Vec<String>,
    /// What the table of sizes has of each.
    pub(super) heads: Vec<&'static str>,
    pub(super) sizes: Vec<Size>,
    pub(super) file: Option<String>,
}

/// One quantity of a compaction.
pub(super) struct Costs {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) range: String,
    pub(super) n: String,
    pub(super) is_own: bool,
}

/// A session today and at the size.
pub(super) struct Session {
    pub(super) at: usize,
    pub(super) name: String,
    /// The name that lists know it by.
    pub(super) full: String,
    pub(super) requests: String,
    pub(super) largest: String,
    /// Widths of both bars, in per cent of the dearest.
    pub(super) bars: [String; 2],
    pub(super) today: String,
    pub(super) usd: String,
    pub(super) recorded: u64,
    pub(super) compactions: u64,
    /// What becomes of it at the size, in words.
    pub(super) told: String,
}

/// A row of the table of sizes.
pub(super) struct Size {
    pub(super) id: String,
    pub(super) is_advised: bool,
    pub(super) name: String,
    pub(super) cells: Vec<String>,
    pub(super) line: Option<String>,
}

/// The answer of a report with these sizes.
pub(super) fn answer(report: &Report, curve: &SizeCurve) -> Answer {
    let said =
        report.recommendation.as_ref().map(|said| short_ids::shortened(report, &said.answer));
    let said = plain::line(&said.unwrap_or_else(|| wording::size_answer(curve)));
    let (sentence, rest) = match said.split_once(". ") {
        Some((first, rest)) => (format!("{first}."), rest.to_owned()),
        None => (said, String::new()),
    };
    let families = match curve.families == curve.sessions {
        true => String::new(),
        false => format!(" in {}", counted(curve.families, "family")),
    };
    let sessions = counted(curve.sessions, "session");
    let requests = counted(curve.requests, "request");
    Answer {
        run: [
            format!("{} · {}", plain::line(&report.title), plain::line(&curve.agent)),
            format!("{sessions}{families} · {requests}"),
        ],
        sentence,
        rest,
        gate: gate::gate(report),
        apply: curve.apply.clone(),
        figures: shown(curve).map(|row| figures(curve, row)).unwrap_or_default(),
        chart: chart::chart(curve),
    }
}

/// The advised size, else the one that saves most.
fn shown(curve: &SizeCurve) -> Option<&SizeRow> {
    let best = || curve.sizes.iter().reduce(|a, b| if b.saving > a.saving { b } else { a });
    curve.chosen().or_else(best)
}

fn figures(curve: &SizeCurve, row: &SizeRow) -> Vec<[String; 2]> {
    let at = match curve.advised {
        Ok(_) => String::new(),
        Err(_) => format!(" at {}", wording::size_name(row.size)),
    };
    // The sentence has the bill of the advised size.
    let bill = (!at.is_empty())
        .then(|| [number::dollars(row.usd), format!("bill{at}, {} against today", against(row))]);
    let wait = (row.wait_ms > 0.0)
        .then(|| [number::time(row.wait_ms), format!("of waiting for those that are added{at}")]);
    let compactions = [
        number::grouped(row.compactions),
        format!(
            "{}{at}, today {}",
            form_for(row.compactions, "compaction", "compactions"),
            number::grouped(curve.compactions)
        ),
    ];
    let sessions = [
        format!("{} of {}", row.cheaper, curve.sessions),
        format!("sessions cheaper{at}, {} dearer", row.dearer),
    ];
    bill.into_iter().chain([compactions]).chain(wait).chain([sessions]).collect()
}

/// What is paid more or less than today.
fn against(row: &SizeRow) -> String {
    number::change(-row.saving)
}

/// From the greatest saving to the least.
fn interval(row: &SizeRow) -> String {
    let end = |share: f64| number::change(-share).replace(" %", "");
    format!("{} to {} %", end(row.hi), end(row.lo))
}

/// The sections of a report with these sizes.
pub(super) fn sections(report: &Report, curve: &SizeCurve) -> Sections {
    let row = shown(curve);
    let said = report.recommendation.as_ref();
    let mut sessions = row.map(|row| sessions(report, row)).unwrap_or_default();
    let more = sessions.len().saturating_sub(LISTED);
    sessions.truncate(LISTED);
    let folded = sessions.split_off(sessions.len().min(OPEN));
    Sections {
        agent: plain::line(&curve.agent),
        quantities: costs(&curve.quantities),
        size: row.map(|row| wording::size_name(row.size)).unwrap_or_default(),
        sessions,
        folded,
        more,
        sure: sure(curve, said),
        problems: super::answer::problems(report),
        harness: (said.into_iter())
            .flat_map(|said| said.harness.iter().chain(&said.also).cloned())
            .chain(super::answer::observed(report))
            .map(|text| plain::line(&text))
            .collect(),
        heads: columns(curve).map(|(head, _, _)| head).collect(),
        sizes: sizes(curve),
        file: curve.apply.as_ref().map(|apply| plain::line(&apply.file)),
    }
}

fn sure(curve: &SizeCurve, said: Option<&Recommendation>) -> Vec<String> {
    let drawn = format!(
        "The 95 % interval draws {}, the size after a compaction and what is read again together, \
         for all sizes alike.",
        form_for(2_u64, curve.unit, if curve.unit == "project" { "projects" } else { "families" }),
    );
    let left_out =
        curve.left_out.iter().map(|(session, why)| format!("Left out: {session}, {why}."));
    let basis = [wording::size_basis(curve), drawn].into_iter().chain(left_out.take(LEFT_OUT));
    let next = said.and_then(|said| said.next.as_ref());
    let next = next.map(|next| format!("To learn more: {next}."));
    basis.chain(next).map(|text| plain::line(&text)).collect()
}

/// A column of the table of sizes: its head, what it has of a size, and of today.
type Column = (&'static str, fn(&SizeRow) -> String, fn(&SizeCurve) -> String);

/// The columns; that of the wait where one is known.
fn columns(curve: &SizeCurve) -> impl Iterator<Item = Column> {
    let none = |_: &SizeCurve| absent();
    let all: [Column; 7] = [
        ("bill", |row| number::dollars(row.usd), |curve| number::dollars(curve.today_usd)),
        ("against today", against, none),
        ("95 % interval", interval, none),
        ("compactions", |row| row.compactions.to_string(), |curve| curve.compactions.to_string()),
        ("wait", |row| number::time(row.wait_ms), none),
        ("cheaper", |row| row.cheaper.to_string(), none),
        ("dearer", |row| row.dearer.to_string(), none),
    ];
    let waits = curve.sizes.iter().any(|row| row.wait_ms > 0.0);
    all.into_iter().filter(move |(head, _, _)| waits || *head != "wait")
}

/// A row for each size, and one for today.
fn sizes(curve: &SizeCurve) -> Vec<Size> {
    let advised = curve.chosen().map(|row| row.size);
    let size = |row: &SizeRow| Size {
        id: row.size.to_string(),
        is_advised: advised == Some(row.size),
        name: wording::size_name(row.size),
        cells: columns(curve).map(|(_, of, _)| of(row)).collect(),
        line: row.line.as_deref().map(plain::line),
    };
    let today = Size {
        id: "today".to_owned(),
        is_advised: false,
        name: "today".to_owned(),
        cells: columns(curve).map(|(_, _, of)| of(curve)).collect(),
        line: None,
    };
    curve.sizes.iter().map(size).chain([today]).collect()
}

fn costs(of: &Quantities) -> Vec<Costs> {
    let tokens = |x: f64| {
        let sign = if x < 0.0 { "−" } else { "" };
        format!("{sign}{}", number::tokens(x.abs()))
    };
    let calls = |x: f64| format!("{x:.1}").replace('-', "−");
    let row = |name, quantity: &Quantity, show: &dyn Fn(f64) -> String| Costs {
        name,
        value: show(quantity.value),
        range: format!("{} to {}", show(quantity.lo), show(quantity.hi)),
        n: number::grouped(quantity.n),
        is_own: quantity.own,
    };
    vec![
        row("Added to the first prompt, tokens", &of.added, &tokens),
        row("Of the next prompt, read from the cache, tokens", &of.cached, &tokens),
        row("Written by the summary’s call, tokens", &of.output, &tokens),
        row("Read again in the next 20 requests, tokens", &of.read_again, &tokens),
        row("Calls that read again", &of.calls, &calls),
        row("Wait for it", &of.wait_ms, &number::time),
    ]
    .into_iter()
    .filter(|row| row.n != "0")
    .collect()
}

fn told(one: &SessionAtSize, size: &str) -> String {
    let room = match one.room {
        true => String::new(),
        false => {
            format!(" It has no room at {size}: behind a compaction it would soon be there again.")
        }
    };
    if one.recorded == one.compactions && one.today_usd == one.usd {
        return format!("It never comes to {size}, and stays as it is.{room}");
    }
    let recorded = counted(one.recorded, "compaction");
    format!("{recorded} on record, {} at {size}.{room}", number::grouped(one.compactions))
}

/// The sessions, those whose bill changes most first.
fn sessions(report: &Report, row: &SizeRow) -> Vec<Session> {
    let change = |one: &SessionAtSize| (one.today_usd - one.usd).abs();
    let mut all: Vec<&SessionAtSize> = row.by_session.iter().collect();
    all.sort_by(|a, b| {
        let dearer = b.today_usd.total_cmp(&a.today_usd);
        change(b).total_cmp(&change(a)).then(dearer).then(a.session.cmp(&b.session))
    });
    let most = all.iter().map(|one| one.today_usd.max(one.usd)).fold(f64::MIN_POSITIVE, f64::max);
    let bar = |usd: f64| format!("{:.1}", 100.0 * usd.max(0.0) / most);
    let session = |one: &&SessionAtSize| {
        let facts = report.sessions.get(one.session)?;
        let largest = report.receipts.get(one.session).map_or(0, |own| own.largest_prompt);
        Some(Session {
            at: one.session,
            name: plain::line(&short_ids::shortened(report, &facts.session)),
            full: plain::line(&facts.session),
            requests: number::grouped(facts.requests.len() as u64),
            largest: number::tokens(largest as f64),
            bars: [bar(one.today_usd), bar(one.usd)],
            today: number::dollars(one.today_usd),
            usd: number::dollars(one.usd),
            recorded: one.recorded,
            compactions: one.compactions,
            told: told(one, &wording::size_name(row.size)),
        })
    };
    all.iter().filter_map(session).collect()
}

#[cfg(test)]
mod tests;
