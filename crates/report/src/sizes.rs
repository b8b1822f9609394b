//! The sizes at which an agent's compaction would have fired: their table, what a compaction
//! costs, each session, and how sure that is.

use super::document::{Cell, Part, TableOf, absent, figures, names, words};
use super::{number, plain};
use recap_core::model::{
    Quantities, Quantity, Recommendation, Report, SessionAtSize, SizeCurve, SizeRow,
};
use recap_core::text::{counted, form_for};
use recap_core::wording;

/// Sessions that have a row: all of them are in `sizes.csv`.
const LISTED: usize = 50;
/// Sessions without a bill that are named.
const LEFT_OUT: usize = 3;

/// A figure by its name: at a size, and today.
type Line = (&'static str, fn(&SizeRow) -> String, String);

/// What the sessions would have cost at each size, and today.
pub(super) fn table(curve: &SizeCurve) -> Part {
    let mut rows: Vec<Line> = vec![
        ("bill", |row| number::dollars(row.usd), number::dollars(curve.today_usd)),
        ("against today", against, absent()),
        ("95 % interval", short_interval, absent()),
        ("compactions", |row| row.compactions.to_string(), curve.compactions.to_string()),
        ("cheaper, dearer", |row| format!("{}, {}", row.cheaper, row.dearer), absent()),
    ];
    if curve.families > 3 {
        let three = |row: &SizeRow| row.three_families.map_or_else(absent, number::percent);
        rows.insert(3, ("by three families", three, absent()));
    }
    let mut table = TableOf::new("What other sizes would have cost", rows)
        .column(words(format!("{} compacts at", curve.agent)), |(name, ..)| *name);
    for row in &curve.sizes {
        table = table.column(figures(wording::size_name(row.size)), |(_, of, _)| of(row));
    }
    table.column(figures("today"), |(.., today)| today.clone()).part()
}

/// From the greatest saving to the least: `−17…−3`.
fn short_interval(row: &SizeRow) -> String {
    let end = |share: f64| number::change(-share).replace(" %", "");
    format!("{}…{}", end(row.hi), end(row.lo))
}

/// The same in words: `−17 to −3 %`.
pub(super) fn interval(row: &SizeRow) -> String {
    format!("{} %", short_interval(row).replace('…', " to "))
}

/// What is paid more or less than today.
pub(super) fn against(row: &SizeRow) -> String {
    number::change(-row.saving)
}

/// The table, and how the advised size is set.
pub(super) fn parts(curve: &SizeCurve) -> Vec<Part> {
    let apply = curve.apply.as_ref().map(|one| Part::Labelled("apply", wording::apply(one)));
    [table(curve)].into_iter().chain(apply).collect()
}

/// The table with the setting of every size.
pub(super) fn with_settings(curve: &SizeCurve) -> Vec<Part> {
    let line = |row: &SizeRow| {
        row.line.as_ref().map(|line| format!("{}: {line}", wording::size_name(row.size)))
    };
    let lines: Vec<String> = curve.sizes.iter().filter_map(line).collect();
    let lines = (!lines.is_empty()).then_some(Part::List(lines));
    [table(curve)].into_iter().chain(lines).collect()
}

/// The advised size, else the one that saves most.
pub(super) fn shown(curve: &SizeCurve) -> Option<&SizeRow> {
    let best = || curve.sizes.iter().reduce(|a, b| if b.saving > a.saving { b } else { a });
    curve.chosen().or_else(best)
}

/// Figures of that size beside the answer, each with what it is.
pub(super) fn figures_of(curve: &SizeCurve, row: &SizeRow) -> Vec<[String; 2]> {
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

/// A quantity by its name, and how it is shown.
type Shown<'a> = (&'static str, &'a Quantity, &'a dyn Fn(f64) -> String);

/// What one compaction changes.
pub(super) fn costs(curve: &SizeCurve) -> Vec<Part> {
    let Quantities { added, cached, output, read_again, calls, wait_ms } = &curve.quantities;
    let tokens = |x: f64| {
        let sign = if x < 0.0 { "−" } else { "" };
        format!("{sign}{}", number::tokens(x.abs()))
    };
    let tenths = |x: f64| format!("{x:.1}").replace('-', "−");
    let rows: [Shown<'_>; 6] = [
        ("added to the first prompt, tokens", added, &tokens),
        ("of the next prompt, read from the cache, tokens", cached, &tokens),
        ("written by the summary’s call, tokens", output, &tokens),
        ("read again in the next 20 requests, tokens", read_again, &tokens),
        ("calls that read again", calls, &tenths),
        ("wait for it", wait_ms, &number::time),
    ];
    let known = rows.into_iter().filter(|(_, quantity, _)| quantity.n > 0);
    let table = TableOf::new("What a compaction costs", known)
        .column(words("quantity"), |(name, ..)| *name)
        .column(figures("taken here"), |(_, of, show)| show(of.value))
        .column(figures("range"), |(_, of, show)| format!("{} to {}", show(of.lo), show(of.hi)))
        .column(figures("compactions"), |(_, of, _)| number::grouped(of.n))
        .column(
            words("from"),
            |(_, of, _)| {
                if of.own { "these sessions" } else { "public recordings" }
            },
        );
    let note = format!(
        "What one compaction of {} changes; the curve has all of it. Public recordings of the same \
         agent stand in where these sessions have fewer than three. Ranges: quartiles of a median; \
         of what is read again, the 95 % interval of a mean.",
        curve.agent
    );
    vec![Part::Text(note), table.part()]
}

/// The sessions at the size of [`shown`], those whose bill changes most first.
pub(super) fn sessions(report: &Report, curve: &SizeCurve) -> Vec<Part> {
    let Some(row) = shown(curve) else { return Vec::new() };
    let size = wording::size_name(row.size);
    let change = |one: &SessionAtSize| (one.today_usd - one.usd).abs();
    let mut all: Vec<&SessionAtSize> = row.by_session.iter().collect();
    all.sort_by(|a, b| {
        let dearer = b.today_usd.total_cmp(&a.today_usd);
        change(b).total_cmp(&change(a)).then(dearer).then(a.session.cmp(&b.session))
    });
    let facts = |one: &SessionAtSize| &report.sessions[one.session];
    let largest = |one: &SessionAtSize| {
        report.receipts.get(one.session).map_or(0.0, |own| own.largest_prompt as f64)
    };
    let dollars = |usd: f64| Cell::figure(usd, number::dollars(usd));
    let name = format!("Sessions today and at {size}");
    let table = TableOf::new(&name, all.iter().take(LISTED))
        .column(names("session"), |one| plain::short_ids(report, &facts(one).session))
        .column(figures("requests"), |one| {
            let requests = facts(one).requests.len() as u64;
            Cell::figure(requests as f64, number::grouped(requests))
        })
        .column(figures("largest prompt"), |one| {
            Cell::figure(largest(one), number::tokens(largest(one)))
        })
        .column(figures("today"), |one| dollars(one.today_usd))
        .column(figures(format!("at {size}")), |one| dollars(one.usd))
        .column(figures("compactions"), |one| format!("{} → {}", one.recorded, one.compactions))
        .column(words("note"), |one| match (one.room, one.recorded == one.compactions) {
            (false, _) => "no room: soon there again",
            (true, true) if one.today_usd == one.usd => "never comes to it",
            _ => "",
        });
    let more = match all.len().checked_sub(LISTED) {
        Some(more @ 1..) => {
            format!("{} and every size of all: sizes.csv.", counted(more, "more session"))
        }
        _ => "Every size of every session: sizes.csv.".to_owned(),
    };
    vec![Part::Heading(name), table.part(), Part::Text(more)]
}

/// What the curve rests on, a sentence each.
pub(super) fn sure(curve: &SizeCurve, answer: Option<&Recommendation>) -> Vec<String> {
    let units = if curve.unit == "project" { "projects" } else { "families" };
    let drawn = format!(
        "The 95 % interval draws {units}, the size after a compaction and what is read again \
         together, for all sizes alike."
    );
    let left_out = curve.left_out.iter().take(LEFT_OUT);
    let left_out = left_out.map(|(session, why)| format!("Left out: {session}, {why}."));
    let next = answer.and_then(|answer| answer.next.as_ref());
    let next = next.map(|next| format!("To learn more: {next}."));
    [wording::size_basis(curve), drawn].into_iter().chain(left_out).chain(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Kit, sized};

    #[test]
    fn sessions_whose_bill_changes_most_come_first() {
        let report = sized(Kit::default().report());
        let curve = report.curve.as_ref().unwrap().as_ref().unwrap();
        let parts = sessions(&report, curve);
        let Part::Table(table) = &parts[1] else { panic!("{parts:?}") };
        let row = |at: usize| -> Vec<&str> {
            table.groups[0].rows[at].cells.iter().map(|cell| cell.text.as_str()).collect()
        };
        // 30 · (1 − 0.8²) = 10.80 and 20 · (1 − 0.8⁴) = 11.81; the first session stays as it is.
        let room = "no room: soon there again";
        assert_eq!(row(0), ["session-2", "14", "0", "$20.00", "$8.19", "2 → 4", room]);
        assert_eq!(row(1)[3..], ["$30.00", "$19.20", "1 → 2", ""]);
        assert_eq!(row(2)[3..], ["$50.00", "$50.00", "0 → 0", "never comes to it"]);
    }
}
