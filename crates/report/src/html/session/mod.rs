//! The context strip of single sessions, packed for the script that draws it:
//! what became of every message under every strategy at every window, with
//! compactions, cuts and cache breaks, and the words of messages and summaries.
//!
//! Each session has two blocks: its shape, and its words. The script unpacks them
//! when a reader asks for that session, so that they cost a page that is only
//! opened nothing but their bytes. A new drawing of a session takes its figures
//! in `shape.rs` and its lines in `session.js`.
//!
//! Invariant: the packed data keep their size whatever the run. What is left
//! out for it is said on the page, with the files that have it.

mod shape;

use askama::Template;
use serde::Serialize;

use super::cells::Cells;
use crate::packed::packed;
use crate::{RenderInput, block, number};
use recap_core::model::{SessionFacts, SessionResults};

use shape::{Level, shape, words};

/// Bytes of all shapes, and of all words, at most.
const SHAPES: usize = 420_000;
const WORDS: usize = 430_000;

/// What a shape may hold, the first that fits: compactions of a cell and
/// strategies, in the order of the table.
const LEVELS: [Level; 6] = [
    Level { compactions: usize::MAX, strategies: usize::MAX },
    Level { compactions: 200, strategies: usize::MAX },
    Level { compactions: 40, strategies: usize::MAX },
    Level { compactions: 40, strategies: 12 },
    Level { compactions: 10, strategies: 12 },
    Level { compactions: 10, strategies: 4 },
];

/// Characters of a message, of a summary in the longest session, and of one in
/// any other, the first that fits.
const LIMITS: [[usize; 3]; 8] = [
    [4_000, 4_000, 4_000],
    [1_200, 4_000, 1_500],
    [1_200, 1_500, 400],
    [600, 1_500, 200],
    [300, 800, 150],
    [200, 400, 100],
    [120, 200, 60],
    [60, 100, 20],
];

/// The section.
#[derive(Template)]
#[template(path = "session/session.html")]
pub(super) struct Sessions {
    /// Names, and which sessions there are; see [`Index`].
    index: String,
    blobs: Vec<Blob>,
    /// What had to be left out, in words.
    cut: Vec<String>,
}

/// One block.
struct Blob {
    id: String,
    data: String,
}

/// What scripts read first.
#[derive(Serialize)]
struct Index {
    strategies: Vec<(String, &'static str)>,
    windows: Vec<String>,
    sessions: Vec<String>,
    /// Positions of the sessions whose shape is there, and whose words are.
    shapes: Vec<usize>,
    words: Vec<usize>,
    /// Positions of the session and of the strategy to open with.
    open: usize,
    first: usize,
    /// Characters after which a message is cut.
    limit: usize,
}

/// Nothing where there is no session.
pub(super) fn sessions(source: &RenderInput<'_>, cells: &Cells<'_>) -> Option<Sessions> {
    let order = order(&source.report.sessions);
    let open = *order.first()?;
    let (level, shapes) = shapes(source, cells, &order);
    let (limits, words) = all_words(source, cells, &shapes, level);
    let index = Index {
        strategies: cells.strategy_names(),
        windows: cells.window_names(),
        sessions: cells.session_names(),
        shapes: shapes.iter().map(|(at, _)| *at).collect(),
        words: words.iter().map(|(at, _)| *at).collect(),
        open,
        first: cells.first(),
        limit: limits[0],
    };
    let cut = cut(source, cells, &order, level, limits, shapes.len(), words.len());
    let blob = |kind: &'static str| {
        move |(at, data): (usize, String)| Blob { id: format!("{kind}-{at}"), data }
    };
    let blobs = shapes.into_iter().map(blob("shape")).chain(words.into_iter().map(blob("words")));
    Some(Sessions { index: packed(&index), blobs: blobs.collect(), cut })
}

/// Positions of the sessions, those with the most tokens first.
fn order(sessions: &[SessionFacts]) -> Vec<usize> {
    let size = |at: &usize| sessions[*at].requests.last().map_or(0, |r| r.tokens_full);
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(size(at)));
    order
}

/// As many as fit, in order.
fn fitting(
    order: impl Iterator<Item = usize>,
    budget: usize,
    block: impl Fn(usize) -> String,
) -> Vec<(usize, String)> {
    let mut room = budget;
    let mut out = Vec::new();
    for at in order {
        let data = block(at);
        let Some(left) = room.checked_sub(data.len()) else { break };
        room = left;
        out.push((at, data));
    }
    out
}

/// The first level at which every session fits. A session that cannot be chosen
/// is worse than compactions that are missing, but not than strategies.
fn shapes(
    source: &RenderInput<'_>,
    cells: &Cells<'_>,
    order: &[usize],
) -> (Level, Vec<(usize, String)>) {
    let mut found = (LEVELS[0], Vec::new());
    for level in LEVELS {
        let shapes = fitting(order.iter().copied(), SHAPES, |at| {
            packed(&shape(cells, &source.report.sessions[at], level).0)
        });
        let enough = level.compactions <= 40 && !shapes.is_empty();
        found = (level, shapes);
        if enough || found.1.len() == order.len() {
            break;
        }
    }
    found
}

fn all_words(
    source: &RenderInput<'_>,
    cells: &Cells<'_>,
    shapes: &[(usize, String)],
    level: Level,
) -> ([usize; 3], Vec<(usize, String)>) {
    let mut found = (LIMITS[0], Vec::new());
    let (Some(texts), Some((longest, _))) = (source.texts, shapes.first()) else { return found };
    for limits in LIMITS {
        found = (
            limits,
            fitting(shapes.iter().map(|(at, _)| *at), WORDS, |at| {
                let facts = &source.report.sessions[at];
                let summaries = shape(cells, facts, level).1;
                let limit = if at == *longest { limits[1] } else { limits[2] };
                packed(&words(texts, facts, &summaries, limits[0], limit))
            }),
        );
        if found.1.len() == shapes.len() {
            break;
        }
    }
    found
}

fn cut(
    source: &RenderInput<'_>,
    cells: &Cells<'_>,
    order: &[usize],
    level: Level,
    limits: [usize; 3],
    shapes: usize,
    words: usize,
) -> Vec<String> {
    let count = |n: usize| number::grouped(n as u64);
    let mut cut = Vec::new();
    if shapes < order.len() {
        let all = block::counted(order.len(), "session");
        cut.push(format!("the {} with the most tokens of {all} can be chosen", count(shapes)));
    }
    if level.strategies < cells.strategies.len() {
        cut.push(format!("of the strategies the first {} of the table", count(level.strategies)));
    }
    let most = |session: SessionResults<'_>| {
        let rows = session.cells().iter().filter_map(|cell| cell.rows());
        rows.map(|rows| rows.compactions.len()).max().unwrap_or(0)
    };
    if source.report.results.iter().map(most).max().unwrap_or(0) > level.compactions {
        let n = count(level.compactions);
        cut.push(format!("of each strategy’s compactions in a session the first {n}"));
    }
    if source.texts.is_some() {
        if words < shapes {
            cut.push(format!("only {} have words", block::counted(words, "session")));
        }
        let [message, longest, other] = limits.map(count);
        let summaries = match longest == other {
            true => longest,
            false => format!("{longest} in the longest session and {other} in others"),
        };
        cut.push(format!(
            "messages are cut after {message} characters, summaries after {summaries}"
        ));
    }
    if source.report.manifest.replicates > 1 {
        cut.push("of several repetitions the first is shown".to_owned());
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;

    fn made(kit: &Kit, text: impl Fn(&str) -> String) -> Sessions {
        let report = kit.report();
        let mut texts = kit.texts(&report);
        for (hash, words) in &mut texts.0 {
            *words = text(hash);
        }
        let source = RenderInput { report: &report, texts: Some(&texts) };
        sessions(&source, &Cells::new(&report)).unwrap()
    }

    #[test]
    fn blocks_stay_within_size_and_state_cuts() {
        let kit = Kit { sessions: 9, requests: 600, ..Kit::default() };
        // Words that hardly compress: a chain of numbers from each hash.
        let babble = |hash: &str| {
            let mut state = hash.bytes().fold(7_u64, |sum, b| sum * 31 % 1_000_003 + u64::from(b));
            let word = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                format!("{state:x} ")
            };
            std::iter::repeat_with(word).take(200).collect()
        };
        let made = made(&kit, babble);
        let size = |kind: &str| -> usize {
            let mine = made.blobs.iter().filter(|blob| blob.id.starts_with(kind));
            mine.map(|blob| blob.data.len()).sum()
        };
        assert!(
            size("shape") <= SHAPES && size("words") <= WORDS,
            "{} {}",
            size("shape"),
            size("words")
        );
        assert_eq!(made.blobs.iter().filter(|b| b.id.starts_with("shape")).count(), 9);
        let cut = made.cut.join("; ");
        assert!(cut.contains("messages are cut after") && !cut.contains("4,000"), "{cut}");
    }

    #[test]
    fn longest_session_is_first_and_small_run_whole() {
        let made = made(&Kit::default(), str::to_owned);
        let ids: Vec<&str> = made.blobs.iter().map(|blob| blob.id.as_str()).collect();
        assert_eq!(&ids[..3], ["shape-2", "shape-1", "shape-0"]);
        let index = crate::packed::unpacked(&made.index);
        assert_eq!(index["words"], serde_json::json!([2, 1, 0]));
        assert!(!made.cut.join("; ").contains("the first"), "{:?}", made.cut);
    }
}
