//! What a cut is, what became of the facts at stake under every strategy, and
//! where they were lost: by distance, by class of identifier, by size (cuts §2).

pub(in crate::report::html) mod cut_picture;

use crate::model::{Cut, FactAtStake, ReferenceState, Report, Standing};
use crate::report::html::questions::answers::{Bar, Piece};
use crate::report::html::table::class;
use crate::report::stakes::{self, Breakdown, By, Counts, DepthCount, Stakes};
use crate::report::{Source, block, number, plain};

/// Sessions that are named for each reason why they were not cut.
const LISTED: usize = 50;
/// Facts that are shown as examples, and characters of each.
const EXAMPLES: usize = 8;
const EXAMPLE: usize = 80;

/// The section.
pub(in crate::report::html) struct Cuts {
    pub(in crate::report::html) picture: String,
    /// How many there are.
    pub(in crate::report::html) basis: String,
    pub(in crate::report::html) depths: Vec<Depth>,
    pub(in crate::report::html) states: [State; 6],
    pub(in crate::report::html) rows: Vec<Row>,
    pub(in crate::report::html) tables: Vec<Table>,
    pub(in crate::report::html) examples: Option<Examples>,
}

/// A depth, as the tables name it.
pub(in crate::report::html) struct Depth {
    pub(in crate::report::html) label: String,
    pub(in crate::report::html) about: String,
}

/// A part of the bars.
pub(in crate::report::html) struct State {
    pub(in crate::report::html) class: &'static str,
    pub(in crate::report::html) about: &'static str,
}

/// A preset.
pub(in crate::report::html) struct Row {
    pub(in crate::report::html) name: String,
    pub(in crate::report::html) class: &'static str,
    /// One for each depth; nothing where it was not looked at.
    pub(in crate::report::html) bars: Vec<Option<Bar>>,
}

/// What is kept of each group of facts.
pub(in crate::report::html) struct Table {
    pub(in crate::report::html) id: &'static str,
    pub(in crate::report::html) title: &'static str,
    pub(in crate::report::html) about: &'static str,
    /// Name of each group, and its facts.
    pub(in crate::report::html) heads: Vec<(String, String)>,
    pub(in crate::report::html) rows: Vec<TableRow>,
}

/// A preset in such a table.
pub(in crate::report::html) struct TableRow {
    pub(in crate::report::html) name: String,
    pub(in crate::report::html) class: &'static str,
    pub(in crate::report::html) cells: Vec<Cell>,
}

/// The share kept of a group, and its counts.
pub(in crate::report::html) struct Cell {
    pub(in crate::report::html) share: String,
    pub(in crate::report::html) counts: String,
}

/// Facts that the first strategy lost.
pub(in crate::report::html) struct Examples {
    pub(in crate::report::html) strategy: String,
    pub(in crate::report::html) facts: Vec<Example>,
}

/// One of them.
pub(in crate::report::html) struct Example {
    pub(in crate::report::html) text: String,
    pub(in crate::report::html) class: &'static str,
    pub(in crate::report::html) place: String,
    pub(in crate::report::html) state: &'static str,
}

/// What each part of a bar means, the best first.
const STATES: [State; 6] = [
    State { class: "verbatim", about: "verbatim: a recorded message that holds it is still sent" },
    State {
        class: "carried",
        about: "carried: it stands in a sentence of what the strategy wrote, with words that stood beside it",
    },
    State { class: "bare", about: "bare: it stands there without such words, or in a list" },
    State { class: "partial", about: "partial: only its last part is left" },
    State {
        class: "recovered", about: "recovered: gone, but the strategy’s own search finds it"
    },
    State { class: "lost", about: "lost: gone, or the provider would have refused the request" },
];

/// Nothing where the run has no cuts, or nothing was at stake at them.
pub(in crate::report::html) fn cuts(source: &Source<'_>) -> Option<Cuts> {
    let stakes = stakes::stakes(source.report).filter(|stakes| stakes.facts > 0)?;
    Some(Cuts {
        picture: cut_picture::picture(),
        basis: basis(source.report, &stakes),
        depths: stakes.depths.iter().map(depth).collect(),
        states: STATES,
        rows: rows(&stakes),
        tables: stakes.breakdowns.iter().map(|table| self::table(&stakes, table)).collect(),
        examples: source.texts.and_then(|_| examples(source.report, &stakes)),
    })
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

fn rows(stakes: &Stakes<'_>) -> Vec<Row> {
    let row = |preset: &stakes::Preset<'_>| Row {
        name: plain::line(preset.strategy),
        class: class(preset.standing),
        bars: (preset.depths.iter().zip(&preset.refused))
            .map(|(counts, refused)| bar(*counts, *refused))
            .collect(),
    };
    stakes.presets.iter().map(row).collect()
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
    (all > 0).then(|| Bar { pieces: there().map(piece).collect(), words: words.join(", ") })
}

fn table(stakes: &Stakes<'_>, table: &Breakdown<'_>) -> Table {
    let (id, title, about) = words(table.by);
    let head = |(name, facts): &(&str, usize)| (plain::line(name), block::counted(*facts, "fact"));
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

/// Facts that the first strategy of the table no longer told at the greatest
/// depth, one of each cut before a second of any.
fn examples(report: &Report, stakes: &Stakes<'_>) -> Option<Examples> {
    let depth = stakes.depths.last()?.depth;
    let of = |standing| stakes.presets.iter().find(|preset| preset.standing == standing);
    let preset = of(Standing::Ranked).or_else(|| of(Standing::StandIn))?;
    let mut found: Vec<(usize, &Cut, &FactAtStake, ReferenceState)> = Vec::new();
    for (cut, exam) in stakes::exams(report, preset.strategy, depth) {
        let missed = cut.facts.iter().zip(&exam.states).filter(|(_, state)| !state.is_kept());
        found.extend(missed.enumerate().map(|(at, (fact, state))| (at, cut, fact, *state)));
    }
    found.sort_by_key(|(at, ..)| *at);
    let facts: Vec<Example> = found
        .into_iter()
        .take(EXAMPLES)
        .map(|(_, cut, fact, state)| Example {
            text: plain::shortened(&plain::line(&fact.text), EXAMPLE),
            class: fact.class.as_str(),
            place: format!(
                "session {}, cut before request {}, used at request {}",
                plain::line(&cut.transcript),
                number::grouped(u64::from(cut.request) + 1),
                number::grouped(u64::from(fact.request) + 1),
            ),
            state: state.as_str(),
        })
        .collect();
    (!facts.is_empty()).then(|| Examples { strategy: plain::line(preset.strategy), facts })
}

/// Sessions that the run cut nowhere, by reason; the most frequent first.
pub(in crate::report::html) fn uncut(report: &Report) -> Vec<(String, Vec<String>)> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for facts in &report.transcripts {
        let Some(reason) = facts.no_cut.as_deref().map(plain::line) else { continue };
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
