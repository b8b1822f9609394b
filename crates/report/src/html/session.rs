//! Single sessions, packed for the script that draws them: what became of every message under
//! every strategy at every window, with compactions, cuts and cache breaks, and the words of
//! messages and summaries.
//!
//! Each session has two blocks: its shape, and its words. The script unpacks them
//! when a reader asks for that session, so that they cost a page that is only
//! opened nothing but their bytes. A new drawing of a session takes its figures
//! in `session_shape.rs` and its lines in `session.js`.
//!
//! Invariant: the packed data keep their size whatever the run. What is left
//! out for it is said on the page, with the files that have it.

use askama::Template;
use indexmap::IndexSet;
use serde::Serialize;

use super::embedded::packed;
use super::session_shape::{COMPACTIONS, shape, words};
use crate::{RenderInput, block, number, plain};
use recap_core::model::{Cell, Report, RowKind, RunResults, SessionFacts, SessionResults};

/// Bytes of all shapes, and of all words, at most.
const SHAPES: usize = 420_000;
const WORDS: usize = 430_000;

/// Characters of a message or a summary.
const LONGEST: usize = 1_200;

/// Strategies and windows in the order of the table, and every cell. Of several repetitions the
/// first stands for all.
pub(super) struct Cells<'a> {
    pub(super) strategies: IndexSet<(&'a str, RowKind)>,
    pub(super) windows: IndexSet<&'a str>,
    results: &'a RunResults,
}

impl<'a> Cells<'a> {
    pub(super) fn new(report: &'a Report) -> Self {
        let windows = report.rows.iter().map(|row| row.window.as_str()).collect();
        Cells { strategies: block::strategies(report), windows, results: &report.results }
    }

    /// The results of a session, if there are any.
    pub(super) fn session(&self, facts: &SessionFacts) -> Option<SessionResults<'a>> {
        self.results.get(&facts.dataset, &facts.session)
    }

    /// The cells of one session, strategies outermost.
    pub(super) fn of<'s>(&self, session: Option<&'s SessionResults<'_>>) -> Vec<Option<&'s Cell>> {
        let pairs =
            self.strategies.iter().flat_map(|p| self.windows.iter().map(move |w| (p.0, *w)));
        let cell = |(strategy, window): (&str, &str)| {
            session?.cells().iter().find(|cell| {
                let key = &cell.key;
                (&*key.strategy, &*key.window, key.replicate) == (strategy, window, 0)
            })
        };
        pairs.map(cell).collect()
    }

    /// The strategy that the drawing opens with: the first that is ranked.
    fn first(&self) -> usize {
        let place = |row_kind| self.strategies.iter().position(|p| p.1 == row_kind);
        place(RowKind::Ranked).or_else(|| place(RowKind::OfflineSummary)).unwrap_or(0)
    }
}

#[derive(Template)]
#[template(path = "session.html")]
struct Sessions {
    /// Names, and which sessions there are; see [`Index`].
    index: String,
    /// Id and data of each block.
    blobs: Vec<(String, String)>,
    /// What had to be left out, in words.
    cut: String,
}

/// What the script reads first.
#[derive(Serialize)]
struct Index {
    strategies: Vec<String>,
    windows: Vec<String>,
    sessions: Vec<String>,
    /// Positions of the sessions whose shape is there, and whose words are.
    shapes: Vec<usize>,
    words: Vec<usize>,
    /// Positions of the session and of the strategy to open with.
    open: usize,
    first: usize,
}

/// The drawing as markup; nothing where there is no session.
pub(super) fn drawn(source: &RenderInput<'_>) -> Option<String> {
    let sessions = sessions(source)?;
    Some(sessions.render().expect("writing to memory cannot fail"))
}

fn sessions(source: &RenderInput<'_>) -> Option<Sessions> {
    let report = source.report;
    let cells = Cells::new(report);
    let order = order(&report.sessions);
    let open = *order.first()?;
    let shaped = order.iter().map(|at| {
        let (shape, summaries) = shape(&cells, &report.sessions[*at]);
        ((*at, summaries), packed(&shape))
    });
    let shapes = fitting(shaped, SHAPES);
    let words = all_words(source, &shapes);
    let strategies = cells.strategies.iter().map(|(name, row_kind)| {
        let offline = if *row_kind == RowKind::OfflineSummary { " (offline)" } else { "" };
        format!("{}{offline}", plain::line(name))
    });
    let index = Index {
        strategies: strategies.collect(),
        windows: cells.windows.iter().map(|window| block::window(window)).collect(),
        sessions: session_names(&report.sessions),
        shapes: shapes.iter().map(|((at, _), _)| *at).collect(),
        words: words.iter().map(|(at, _)| *at).collect(),
        open,
        first: cells.first(),
    };
    let cut = cut(source, shapes.len(), words.len()).join("; ");
    let blobs = shapes.into_iter().map(|((at, _), data)| (format!("shape-{at}"), data));
    let blobs = blobs.chain(words.into_iter().map(|(at, data)| (format!("words-{at}"), data)));
    Some(Sessions { index: packed(&index), blobs: blobs.collect(), cut })
}

/// Sessions, with their data set where there are several.
fn session_names(sessions: &[SessionFacts]) -> Vec<String> {
    let several = sessions.iter().any(|facts| facts.dataset != sessions[0].dataset);
    let name = |facts: &SessionFacts| {
        if several {
            plain::line(&format!("{}: {}", facts.dataset, facts.session))
        } else {
            plain::line(&facts.session)
        }
    };
    sessions.iter().map(name).collect()
}

/// Positions of the sessions, those with the most tokens first.
fn order(sessions: &[SessionFacts]) -> Vec<usize> {
    let size = |at: &usize| sessions[*at].requests.last().map_or(0, |r| r.tokens_full);
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(size(at)));
    order
}

/// As many blocks as fit, in order.
fn fitting<K>(blocks: impl Iterator<Item = (K, String)>, budget: usize) -> Vec<(K, String)> {
    let mut room = Some(budget);
    let fits = |(_, data): &(K, String)| {
        room = room.and_then(|room| room.checked_sub(data.len()));
        room.is_some()
    };
    blocks.take_while(fits).collect()
}

/// The position of a session with the hashes of its summaries, and its packed shape.
type Shaped = ((usize, IndexSet<String>), String);

/// The words of the sessions with a shape, as many as fit.
fn all_words(source: &RenderInput<'_>, shapes: &[Shaped]) -> Vec<(usize, String)> {
    let Some(texts) = source.texts else { return Vec::new() };
    let blocks = shapes.iter().map(|((at, summaries), _)| {
        (*at, packed(&words(texts, &source.report.sessions[*at], summaries, LONGEST)))
    });
    fitting(blocks, WORDS)
}

/// What is left out of so many shapes and words, in words.
fn cut(source: &RenderInput<'_>, shapes: usize, words: usize) -> Vec<String> {
    let count = |n: usize| number::grouped(n as u64);
    let report = source.report;
    let mut cut = Vec::new();
    if shapes < report.sessions.len() {
        let all = block::counted(report.sessions.len(), "session");
        cut.push(format!("the {} with the most tokens of {all} can be chosen", count(shapes)));
    }
    let most = |session: SessionResults<'_>| {
        let rows = session.cells().iter().filter_map(|cell| cell.rows());
        rows.map(|rows| rows.compactions.len()).max().unwrap_or(0)
    };
    if report.results.iter().map(most).max().unwrap_or(0) > COMPACTIONS {
        cut.push(format!("of each strategy’s compactions in a session the first {COMPACTIONS}"));
    }
    if source.texts.is_some() {
        if words < shapes {
            cut.push(format!("only {} have words", block::counted(words, "session")));
        }
        cut.push(format!(
            "messages and summaries are cut after {} characters",
            number::grouped(LONGEST as u64)
        ));
    }
    if report.manifest.replicates > 1 {
        cut.push("of several repetitions the first is shown".to_owned());
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::embedded::unpacked;
    use crate::testkit::Kit;

    fn made(kit: &Kit, text: impl Fn(&str) -> String) -> Sessions {
        let report = kit.report();
        let mut texts = kit.texts(&report);
        for (hash, words) in &mut texts.0 {
            *words = text(hash);
        }
        let source = RenderInput { report: &report, texts: Some(&texts) };
        sessions(&source).unwrap()
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
            let mine = made.blobs.iter().filter(|blob| blob.0.starts_with(kind));
            mine.map(|blob| blob.1.len()).sum()
        };
        assert!(
            size("shape") <= SHAPES && size("words") <= WORDS,
            "{} {}",
            size("shape"),
            size("words")
        );
        assert_eq!(made.blobs.iter().filter(|b| b.0.starts_with("shape")).count(), 9);
        let cut = made.cut;
        assert!(cut.contains("only ") && cut.contains("are cut after 1,200"), "{cut}");
    }

    #[test]
    fn longest_session_is_first_and_small_run_whole() {
        let made = made(&Kit::default(), str::to_owned);
        let ids: Vec<&str> = made.blobs.iter().map(|blob| blob.0.as_str()).collect();
        assert_eq!(&ids[..3], ["shape-2", "shape-1", "shape-0"]);
        let index = unpacked(&made.index);
        assert_eq!(index["words"], serde_json::json!([2, 1, 0]));
        assert!(!made.cut.contains("the first"), "{:?}", made.cut);
    }
}
