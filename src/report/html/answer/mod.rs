//! The answer: one sentence, one figure and one picture, and the problems of the
//! run in few lines. Works without a script.

mod labels;
mod points;
mod quadrant;

use askama::Template;

use super::trust::{self, gate};
use super::{Keys, Names};
use crate::model::{PresetRow, Primary, Report, Standing, catalogue};
use crate::report::{block, number, plain};

use points::{Kind, Picture};
use quadrant::{FRAMES, Quadrant};

pub(super) use points::reference;

/// Problems that are told here, and characters of each.
const PROBLEMS: usize = 4;
const PROBLEM: usize = 150;

/// The section.
#[derive(Template)]
#[template(path = "answer/answer.html")]
pub(super) struct Answer {
    title: String,
    headlines: Vec<String>,
    sentence: String,
    /// The whole verdict, and what else was seen.
    more: Vec<String>,
    gate: Option<gate::Shown>,
    problems: Vec<String>,
    /// How many stand below.
    others: usize,
    blocks: Vec<Shown>,
}

/// One table in a picture.
struct Shown {
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
    words: &'static str,
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

/// The section, and which table it opens with.
pub(super) fn answer(
    report: &Report,
    blocks: &[block::Block<'_>],
    names: &Names<'_>,
) -> (Answer, usize) {
    let verdict = report.verdict.as_ref().map(|verdict| plain::line(&verdict.0));
    let seen: Vec<String> = report.sentences.iter().map(|s| plain::line(&s.0)).collect();
    let sentence = verdict.as_deref().and_then(first).or_else(|| seen.first().cloned());
    let sentence = sentence.unwrap_or_else(|| "Nothing stands out: see the full table.".to_owned());
    let open = open(blocks, &sentence);
    let problems = trust::problems(report);
    let several = blocks.len() > 1;
    let shown = blocks.iter().enumerate().map(|(at, block)| {
        let chosen = chosen(&block.rows, &sentence);
        Shown {
            keys: names.keys(block),
            heading: several.then(|| super::heading(report, block)),
            is_open: at == open,
            figure: chosen.and_then(|row| figure(report.primary, row, &block.rows)),
            picture: points::picture(report, &block.rows, chosen.map(|row| &*row.strategy))
                .map(drawn),
        }
    });
    let answer = Answer {
        title: plain::line(&report.title),
        headlines: super::headlines(report, blocks),
        blocks: shown.collect(),
        more: verdict.into_iter().chain(seen).filter(|said| *said != sentence).collect(),
        sentence,
        gate: gate::gate(report),
        others: problems.len().saturating_sub(PROBLEMS),
        problems: (problems.into_iter().take(PROBLEMS))
            .map(|problem| plain::shortened(&problem, PROBLEM))
            .collect(),
    };
    (answer, open)
}

/// The first sentence of a verdict. What was replayed stands in a line of its
/// own above it.
fn first(verdict: &str) -> Option<String> {
    let mut sentences = verdict.split_inclusive(". ").map(str::trim);
    sentences.find(|sentence| !sentence.contains(" replayed through ")).map(str::to_owned)
}

/// The table that the sentence speaks of: its window, over all data sets.
fn open(blocks: &[block::Block<'_>], sentence: &str) -> usize {
    let whole = |block: &block::Block<'_>| block.dataset == block::ALL;
    let any = !blocks.iter().any(whole);
    let of = |named: bool| {
        blocks.iter().position(|block| {
            (any || whole(block)) && (!named || sentence.contains(&block::at(block.window)))
        })
    };
    of(true).or_else(|| of(false)).unwrap_or(0)
}

/// The row that the sentence names first, else the first of the ranking.
fn chosen<'a>(rows: &[&'a PresetRow], sentence: &str) -> Option<&'a PresetRow> {
    let choices = || rows.iter().copied().filter(|row| row.standing != Standing::Control);
    let named = choices().filter_map(|row| Some((place(sentence, &row.strategy)?, row)));
    let named = named.min_by_key(|(at, _)| *at).map(|(_, row)| row);
    named.or_else(|| choices().find(|row| row.rank == Some(1))).or_else(|| choices().next())
}

/// Where a name stands as a word of its own.
fn place(sentence: &str, name: &str) -> Option<usize> {
    let inside = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let alone = |at: &usize| {
        !sentence[..*at].ends_with(inside) && !sentence[at + name.len()..].starts_with(inside)
    };
    sentence.match_indices(name).map(|(at, _)| at).find(alone)
}

fn figure(primary: Primary, row: &PresetRow, rows: &[&PresetRow]) -> Option<Figure> {
    let kept = points::share(primary, row.number(primary.measure())?);
    Some(Figure {
        kept: number::percent(kept),
        words: match primary {
            Primary::Continuity => {
                "of what the whole conversation answers right is still answered right with"
            }
            Primary::KeptAtCut => {
                "of the facts that the agent needed after a compaction are still there with"
            }
            Primary::ReferenceRecall => {
                "of the facts that the agent went on to use are still there with"
            }
        },
        name: block::label(row),
        cost: cost(row, rows),
    })
}

/// Its bill, and how far that is from the row that others are held against.
fn cost(row: &PresetRow, rows: &[&PresetRow]) -> Option<String> {
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
    use crate::report::testkit::Kit;

    #[test]
    fn the_sentence_is_the_first_that_does_not_tell_what_was_replayed() {
        let verdict =
            "6 sessions were replayed through 12 strategies at 25 %. Take prune. It is cheap.";
        assert_eq!(first(verdict).as_deref(), Some("Take prune."));
        assert_eq!(first("Take prune. It is cheap.").as_deref(), Some("Take prune."));
    }

    #[test]
    fn the_figure_is_that_of_the_preset_that_the_sentence_names() {
        let report = Kit { windows: vec!["25%"], ..Kit::default() }.report();
        let rows: Vec<&PresetRow> = report.rows.iter().collect();
        let name = |sentence: &str| chosen(&rows, sentence).map(|row| row.strategy.as_str());
        assert_eq!(name("At 25 % use fifo; prune costs more."), Some("fifo"));
        assert_eq!(name("Nothing but fifo-like presets keeps enough."), Some("prune"), "rank 1");
    }

    #[test]
    fn the_page_opens_with_the_window_that_the_sentence_names() {
        let report = Kit::default().report();
        let blocks = block::blocks(&report);
        assert_eq!(open(&blocks, "At 200k use prune."), 1);
        assert_eq!(open(&blocks, "Nothing stands out."), 0);
    }
}
