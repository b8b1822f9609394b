//! What a cut lost: what became of the facts at stake under every strategy, fact
//! by fact, and where they were lost: by distance, by class of identifier, by
//! size (cuts §2).
//!
//! Invariant: the packed facts keep their size whatever the run; what is left
//! out is whole in `facts.csv`, and the page says so.

use std::collections::BTreeSet;

use askama::Template;
use serde::Serialize;

use crate::model::{Cut, ProbeKind, ReferenceState, Report, Standing};
use crate::report::html::cells::Cells;
use crate::report::html::questions::answers::{Bar, Piece};
use crate::report::html::table::class;
use crate::report::packed::packed;
use crate::report::stakes::{self, Breakdown, By, Counts, DepthCount, Stakes};
use crate::report::{Source, asked, block, number, plain};

/// Sessions that are named for each reason why they were not cut.
const LISTED: usize = 50;
/// Strategies that stand open; the others are folded away.
const OPEN: usize = 12;
/// Bytes of the packed facts, cuts that are tried first, and characters of a fact.
const BUDGET: usize = 150_000;
const CUTS: usize = 2_000;
const FACT: usize = 120;

/// The section.
#[derive(Template)]
#[template(path = "cuts/cuts.html")]
pub(super) struct Cuts {
    /// How many there are.
    basis: String,
    states: [State; 6],
    /// What is kept at the greatest depth.
    depth: Depth,
    rows: Vec<Row>,
    folded: Vec<Row>,
    /// The same at the other depths.
    others: Vec<(Depth, Vec<Row>)>,
    tables: Vec<Table>,
    /// What is still answered, by kind of question; absent without questions.
    questions: Option<Table>,
    /// Sessions that were cut nowhere, by reason.
    uncut: Vec<(String, Vec<String>)>,
    /// For the script; see [`Packed`].
    data: String,
    /// What of it is left out.
    left_out: Option<String>,
}

/// Every fact at the greatest depth, as the script reads it.
#[derive(Serialize)]
struct Packed<'a> {
    presets: Vec<(String, &'static str)>,
    /// Position of the strategy to open with.
    first: usize,
    /// Names of the states, and whether each counts as kept.
    states: Vec<(&'static str, bool)>,
    cuts: &'a [PackedCut],
}

#[derive(Serialize)]
struct PackedCut {
    session: String,
    /// Ordinal of the first request behind it.
    request: u32,
    /// Text, class, and the request that uses it.
    facts: Vec<(String, &'static str, u32)>,
    /// By preset: the position of each fact's state, or nothing where it was
    /// not looked at.
    found: Vec<Option<String>>,
}

/// A depth, as the tables name it.
struct Depth {
    label: String,
    about: String,
}

/// A part of the bars.
struct State {
    class: &'static str,
    about: &'static str,
}

/// A preset.
struct Row {
    name: String,
    class: &'static str,
    /// Nothing where it was not looked at.
    bar: Option<Bar>,
}

/// What is kept of each group of facts.
struct Table {
    id: &'static str,
    title: &'static str,
    about: &'static str,
    /// Name of each group, and its facts.
    heads: Vec<(String, String)>,
    rows: Vec<TableRow>,
}

/// A preset in such a table.
struct TableRow {
    name: String,
    class: &'static str,
    cells: Vec<Cell>,
}

/// The share kept of a group, and its counts.
struct Cell {
    share: String,
    counts: String,
}

/// What each part of a bar means, the best first.
const STATES: [State; 6] = [
    State { class: "verbatim", about: "verbatim: still sent as recorded" },
    State { class: "carried", about: "carried: written by the strategy, with words beside it" },
    State { class: "bare", about: "bare: written without such words" },
    State { class: "partial", about: "partial: only its last part" },
    State {
        class: "recovered", about: "recovered: gone, but the strategy’s own search finds it"
    },
    State { class: "lost", about: "lost: gone, or the request would be refused" },
];

/// Nothing where the run has no cuts, or nothing was at stake at them.
pub(super) fn cuts(source: &Source<'_>, cells: &Cells<'_>) -> Option<Cuts> {
    let stakes = stakes::stakes(source.report).filter(|stakes| stakes.facts > 0)?;
    // A session may be too short for a greater depth.
    let looked = || stakes.depths.iter().enumerate().filter(|(_, of)| of.facts > 0);
    let (data, left_out) = facts(source, cells, looked().next_back()?.1.depth);
    let mut depths: Vec<(Depth, Vec<Row>)> =
        looked().map(|(at, of)| (depth(of), rows(&stakes, at))).collect();
    let (depth, mut rows) = depths.pop()?;
    let folded = rows.split_off(rows.len().min(OPEN));
    Some(Cuts {
        basis: basis(source.report, &stakes),
        states: STATES,
        depth,
        rows,
        folded,
        others: depths,
        tables: stakes.breakdowns.iter().map(|table| self::table(&stakes, table)).collect(),
        questions: questions(source.report),
        uncut: uncut(source.report),
        data,
        left_out,
    })
}

/// The facts of as many cuts as fit, and what is left out.
fn facts(source: &Source<'_>, cells: &Cells<'_>, depth: u32) -> (String, Option<String>) {
    let mut all = 0;
    let mut first = Vec::new();
    for session in source.report.sessions.iter() {
        let cuts = session.cuts().iter().filter(|cut| !cut.facts.is_empty());
        all += cuts.clone().count();
        first.extend(cuts.take(CUTS - first.len()).map(|cut| of(source, cells, cut, depth)));
    }
    let mut shown = first.len();
    let data = loop {
        let packed = packed(&Packed {
            presets: cells.preset_names(),
            first: cells.first(),
            states: stakes::STATES.iter().map(|s| (s.as_str(), s.is_kept())).collect(),
            cuts: &first[..shown],
        });
        if packed.len() <= BUDGET || shown == 0 {
            break packed;
        }
        shown /= 2;
    };
    let left_out = (shown < all).then(|| {
        format!(
            "the first {shown} of {} are listed; all are in facts.csv",
            block::counted(all, "cut")
        )
    });
    (data, left_out)
}

fn of(source: &Source<'_>, cells: &Cells<'_>, cut: &Cut, depth: u32) -> PackedCut {
    let text = |text: &str| match source.texts {
        Some(_) => plain::shortened(&plain::line(text), FACT),
        None => String::new(),
    };
    let found = |strategy: &str| {
        let mut mine = cut
            .rows
            .iter()
            .filter(|row| row.strategy == strategy && row.depth == depth && row.replicate == 0);
        let exam = mine.next()?.exam().filter(|exam| exam.states.len() == cut.facts.len())?;
        let place = |state: &ReferenceState| {
            stakes::STATES.iter().position(|other| other == state).map(|at| at.to_string())
        };
        exam.states.iter().map(place).collect::<Option<String>>()
    };
    PackedCut {
        session: plain::line(&cut.transcript),
        request: cut.request,
        facts: (cut.facts.iter())
            .map(|fact| (text(&fact.text), fact.class.as_str(), fact.request))
            .collect(),
        found: cells.presets.iter().map(|(strategy, _)| found(strategy)).collect(),
    }
}

fn basis(report: &Report, stakes: &Stakes<'_>) -> String {
    let repeated = match report.manifest.replicates {
        0 | 1 => String::new(),
        n => format!(", each preset’s compactions {n} times over"),
    };
    let elsewhere = match stakes.depths.iter().any(|at| at.cuts != stakes.cuts) {
        true => " A depth is looked at where enough stands before the cut.",
        false => "",
    };
    format!(
        "{} at {}, in {} of {}{repeated}.{elsewhere}",
        block::counted(stakes.facts, "fact") + " at stake",
        block::counted(stakes.cuts, "cut"),
        number::grouped(stakes.sessions as u64),
        block::counted(report.transcripts.len(), "session"),
    )
}

fn depth(at: &DepthCount) -> Depth {
    let counts =
        format!("{}, {}", block::counted(at.cuts, "cut"), block::counted(at.facts, "fact"));
    match at.depth {
        1 => Depth {
            label: "after the first compaction".to_owned(),
            about: format!("the strategy compacts here for the first time; {counts}"),
        },
        depth => Depth {
            label: format!("in a session {depth} times the window"),
            about: format!("it has compacted again and again by then; {counts}"),
        },
    }
}

/// The strategies at one depth. Yardsticks stand in the full table.
fn rows(stakes: &Stakes<'_>, at: usize) -> Vec<Row> {
    let choices = stakes.presets.iter().filter(|preset| preset.standing != Standing::Control);
    let row = |preset: &stakes::Preset<'_>| Row {
        name: plain::line(preset.strategy),
        class: class(preset.standing),
        bar: bar(preset.depths[at], preset.refused[at]),
    };
    choices.map(row).collect()
}

/// The counts as a bar, and how many of them rest on a refusal: what is lost
/// there is not what a summary left out.
fn bar(counts: Counts, refused: u64) -> Option<Bar> {
    let all = counts.all();
    let there = || counts.each().filter(|(_, n)| *n > 0);
    let piece = |(state, n): (ReferenceState, u64)| Piece {
        class: state.as_str(),
        width: format!("{:.1}", n as f64 / all as f64 * 100.0),
    };
    let words = there().map(|(state, n)| format!("{}\u{A0}{}", number::grouped(n), state.as_str()));
    let mut words: Vec<String> = words.collect();
    if refused > 0 {
        let refused = number::grouped(refused);
        words.push(format!("{refused}\u{A0}of these at requests over the window"));
    }
    (all > 0).then(|| Bar {
        pieces: there().map(piece).collect(),
        words: words.join(", "),
        kept: format!("{} of {}", number::grouped(counts.kept()), number::grouped(all)),
    })
}

fn table(stakes: &Stakes<'_>, table: &Breakdown) -> Table {
    let (id, title, about) = words(table.by);
    let head =
        |(name, facts): &(String, usize)| (plain::line(name), block::counted(*facts, "fact"));
    let cell = |counts: &Counts| Cell {
        share: counts.share().map_or_else(|| "–".to_owned(), number::share),
        counts: match counts.all() {
            0 => String::new(),
            all => format!("{} of {}", number::grouped(counts.kept()), number::grouped(all)),
        },
    };
    let row = |(preset, counts): (&stakes::Preset<'_>, &Vec<Counts>)| TableRow {
        name: plain::line(preset.strategy),
        class: class(preset.standing),
        cells: counts.iter().map(cell).collect(),
    };
    Table {
        id,
        title,
        about,
        heads: table.groups.iter().map(head).collect(),
        rows: stakes.presets.iter().zip(&table.rows).map(row).collect(),
    }
}

/// The questions that the whole conversation answers right, by kind.
fn questions(report: &Report) -> Option<Table> {
    let asked = asked::asked(report);
    let kinds: BTreeSet<ProbeKind> = asked.iter().flat_map(|p| p.kinds.keys().copied()).collect();
    let count = |kind: &ProbeKind| {
        asked.iter().filter_map(|preset| preset.kinds.get(kind)).map(|kept| kept.before).max()
    };
    let kinds: Vec<ProbeKind> =
        kinds.into_iter().filter(|kind| count(kind).unwrap_or(0) > 0).collect();
    let head = |kind: &ProbeKind| {
        let questions = block::counted(count(kind).unwrap_or(0) as usize, "question");
        (asked::subject(*kind).to_owned(), questions)
    };
    let cell = |kept: Option<&asked::Kept>| match kept.filter(|kept| kept.before > 0) {
        None => Cell { share: "–".to_owned(), counts: String::new() },
        Some(kept) => Cell {
            share: number::share(kept.after as f64 / kept.before as f64),
            counts: format!("{} of {}", number::grouped(kept.after), number::grouped(kept.before)),
        },
    };
    let row = |preset: &asked::Asked| TableRow {
        name: plain::line(&preset.strategy),
        class: class(preset.standing),
        cells: kinds.iter().map(|kind| cell(preset.kinds.get(kind))).collect(),
    };
    (!kinds.is_empty()).then(|| Table {
        id: "questions",
        title: "Which kinds of questions are still answered",
        about: "of those that the whole conversation answers right, asked right behind the cut; \
                where the session does not say, it is right to say so",
        heads: kinds.iter().map(head).collect(),
        rows: asked.iter().map(row).collect(),
    })
}

/// Id, title and meaning of a table.
fn words(by: By) -> (&'static str, &'static str, &'static str) {
    match by {
        By::Distance => (
            "distance",
            "By distance from the cut",
            "requests from the cut to the one that uses the fact: the first is the one right after \
             the compaction",
        ),
        By::Class => ("class", "By class of identifier", "what kind of thing the fact is"),
        By::Size => {
            ("size", "By size of the material", "tokens of the messages that stand before the cut")
        }
        By::Dataset => ("dataset", "By data set", "the data set that the session belongs to"),
    }
}

/// Sessions that the run cut nowhere, by reason; the most frequent first.
fn uncut(report: &Report) -> Vec<(String, Vec<String>)> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for facts in &report.transcripts {
        let Some(why) = &facts.no_cut else { continue };
        let reason = plain::line(&why.to_string());
        let name = plain::line(&facts.transcript);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    reasons.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    for (_, names) in &mut reasons {
        let more = names.len().saturating_sub(LISTED);
        names.truncate(LISTED);
        names.extend((more > 0).then(|| format!("and {more} more")));
    }
    reasons
}

#[cfg(test)]
mod tests;
