//! The answer: one sentence, one figure and one picture, and the problems of the
//! run in few lines. Works without a script.

mod labels;
pub(super) mod points;
pub(super) mod quadrant;

use askama::Template;

use super::trust::{self, gate};
use super::{Keys, Names};
use crate::document::html;
use crate::{block, number, plain, tuned};
use recap_core::model::{
    Primary, Recommendation, Report, RowKind, RowName, Severity, StrategyRow, catalogue,
};

use points::{Kind, Picture};
use quadrant::{FRAMES, Quadrant};

pub(super) use points::reference;

/// Problems that are told here, and characters of each.
const PROBLEMS: usize = 3;
const PROBLEM: usize = 150;

/// The section.
#[derive(Template)]
#[template(path = "answer/answer.html")]
pub(super) struct Answer {
    title: String,
    headlines: Vec<String>,
    sentence: String,
    /// What a replay at the limit tells those who build a harness of their own.
    harness: Option<String>,
    /// The whole verdict, and what else was seen.
    more: Vec<String>,
    /// Where settings were searched: which sessions chose, and every setting.
    tuned: String,
    gate: Option<gate::GatePanel>,
    problems: Problems,
    /// A picture of each table where what is kept and the bill come from the same replay.
    blocks: Vec<TablePicture>,
}

/// What may mislead a reader, in few lines.
pub(super) struct Problems {
    pub(super) shown: Vec<String>,
    /// How many stand below.
    pub(super) others: usize,
}

/// One table in a picture.
struct TablePicture {
    keys: Keys,
    /// What it is about, where there are several.
    heading: Option<String>,
    is_open: bool,
    figure: Option<Figure>,
    picture: Option<Drawn>,
}

/// One figure and what it says.
struct Figure {
    kept: String,
    name: String,
    cost: Option<String>,
}

/// A picture with its key.
struct Drawn {
    drawings: Vec<Quadrant>,
    reference: String,
    /// Names by number, for drawings without room for names.
    key: Vec<String>,
    hollow: bool,
    /// Whether several share a mark.
    joined: bool,
    starred: bool,
    spread: Option<Kind>,
}

/// The section; the page opens with this table.
pub(super) fn answer(
    report: &Report,
    blocks: &[block::Block<'_>],
    names: &Names<'_>,
    open: usize,
) -> Answer {
    let said = report.recommendation.as_ref();
    let chosen = said.and_then(|of| of.row.as_ref());
    let is_pictured = report.primary == Primary::Continuity && report.tuned.is_none();
    let several = blocks.len() > 1;
    let shown = blocks.iter().enumerate().filter(|_| is_pictured).map(|(at, block)| {
        // Token savers are each told of; none of them is chosen.
        let chosen = figured(&block.rows, chosen).filter(|_| !report.has_only_savers());
        TablePicture {
            keys: names.keys(block),
            heading: several.then(|| super::heading(report, block)),
            is_open: at == open,
            figure: chosen.and_then(|row| figure(row, &block.rows)),
            picture: points::picture(&block.rows, chosen.map(|row| &*row.strategy)).map(drawn),
        }
    });
    Answer {
        title: plain::line(&report.title),
        headlines: super::headlines(report, blocks),
        blocks: shown.collect(),
        more: more(report, said),
        harness: said.and_then(|said| Some(plain::line(said.harness.as_ref()?))),
        sentence: match (&report.tuned, said) {
            (Some(tuned), _) => tuned::sentence(tuned),
            (None, Some(said)) => plain::line(&said.answer),
            (None, None) => "Nothing was measured: see the full table.".to_owned(),
        },
        tuned: report.tuned.as_ref().map_or_else(String::new, |of| {
            let figure = tuned::drawing(of).map(|svg| format!("<figure>{svg}</figure>"));
            figure.unwrap_or_default() + &html(&tuned::below(report, of))
        }),
        gate: gate::gate(report),
        problems: problems(report),
    }
}

/// The first problems of the run.
pub(super) fn problems(report: &Report) -> Problems {
    let all = trust::problems(report);
    let shown = all.iter().take(PROBLEMS).map(|problem| plain::shortened(problem, PROBLEM));
    Problems { shown: shown.collect(), others: all.len().saturating_sub(PROBLEMS) }
}

/// What the figures of the strategies show.
pub(super) fn observed(report: &Report) -> impl Iterator<Item = String> {
    let those = report.findings.iter().filter(|found| found.severity == Severity::Observation);
    those.map(|found| found.text.clone())
}

/// How sure the answer is, what it rests on, what else a reader should know, and
/// what the figures show.
fn more(report: &Report, said: Option<&Recommendation>) -> Vec<String> {
    let parts = said.into_iter().flat_map(|said| {
        [&said.how_sure]
            .into_iter()
            .chain(&said.doubt)
            .chain([&said.basis])
            .chain(&said.also)
            .cloned()
    });
    let next = said.and_then(|said| said.next.as_ref());
    let next = next.map(|next| format!("To learn more: {next}."));
    parts.chain(observed(report)).chain(next).map(|text| plain::line(&text)).collect()
}

/// The table that the page opens with: that of the answer.
pub(super) fn opened(report: &Report, blocks: &[block::Block<'_>]) -> usize {
    open(blocks, report.recommendation.as_ref().and_then(|of| of.row.as_ref()))
}

/// The table that the answer speaks of: its window, over all data sets.
fn open(blocks: &[block::Block<'_>], chosen: Option<&RowName>) -> usize {
    let whole = |block: &block::Block<'_>| block.dataset == block::ALL;
    let any = !blocks.iter().any(whole);
    let of = |named: bool| {
        blocks.iter().position(|block| {
            let here = chosen.is_some_and(|place| place.window == block.window);
            (any || whole(block)) && (!named || here)
        })
    };
    of(true).or_else(|| of(false)).unwrap_or(0)
}

/// The row whose figure stands beside the picture: the one to use, else the first of
/// the ranking.
fn figured<'a>(rows: &[&'a StrategyRow], chosen: Option<&RowName>) -> Option<&'a StrategyRow> {
    let choices = || rows.iter().copied().filter(|row| row.row_kind != RowKind::Control);
    let named = |row: &&StrategyRow| chosen.is_some_and(|place| place.strategy == row.strategy);
    let first = |row: &&StrategyRow| row.rank == Some(1);
    choices().find(named).or_else(|| choices().find(first)).or_else(|| choices().next())
}

fn figure(row: &StrategyRow, rows: &[&StrategyRow]) -> Option<Figure> {
    Some(Figure {
        kept: number::percent(points::quality(row)?),
        name: block::label(row),
        cost: cost(row, rows),
    })
}

/// Its bill, and how far that is from the row that others are held against.
fn cost(row: &StrategyRow, rows: &[&StrategyRow]) -> Option<String> {
    let usd = row.number(catalogue::COST_USD)?;
    let star = if block::overflows(row).is_some() { " *" } else { "" };
    let own = format!("{}{star}", number::dollars(usd));
    let against = reference(rows).filter(|other| other.strategy != row.strategy);
    let all = against.and_then(|other| Some((other, other.number(catalogue::COST_USD)?)));
    Some(match all {
        Some((other, whole)) if whole > 0.0 => {
            format!("{own}, {} against {}", number::change(usd / whole - 1.0), other.strategy)
        }
        _ => own,
    })
}

fn drawn(picture: Picture) -> Drawn {
    let drawings: Vec<Quadrant> =
        FRAMES.iter().map(|frame| Quadrant::new(&picture, frame)).collect();
    let marks = || picture.marks.iter();
    let spread = marks().find_map(|mark| mark.spread).map(|spread| spread.kind);
    Drawn {
        hollow: marks().any(|mark| mark.class == "hollow"),
        joined: marks().any(points::Mark::is_joined),
        starred: marks().any(|mark| mark.title.contains("over the window")),
        spread,
        key: marks().map(points::Mark::all_names).collect(),
        drawings,
        reference: picture.reference,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;

    fn place(strategy: &str, window: &str) -> RowName {
        RowName { strategy: strategy.to_owned(), window: window.to_owned() }
    }

    #[test]
    fn figure_shows_recommended_or_first_ranked_strategy() {
        let report = Kit { windows: vec!["25%"], ..Kit::default() }.report();
        let rows: Vec<&StrategyRow> = report.rows.iter().collect();
        let name = |place: Option<&RowName>| figured(&rows, place).map(|row| row.strategy.as_str());
        assert_eq!(name(Some(&place("fifo", "25%"))), Some("fifo"));
        assert_eq!(name(None), Some("prune"), "rank 1");
    }

    #[test]
    fn page_opens_with_window_of_the_answer() {
        let report = Kit::default().report();
        let blocks = block::blocks(&report);
        assert_eq!(open(&blocks, Some(&place("prune", "200k"))), 1);
        assert_eq!(open(&blocks, None), 0);
    }
}
