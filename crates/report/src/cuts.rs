//! What one compaction keeps, on the page: every strategy at the cuts, which facts it lost, and
//! which questions (how-it-works §45). All are in `facts.csv` and `cut_questions.csv`.

use std::cmp::Reverse;

use super::document::{Part, TableOf, figures, names, words};
use super::sheet::cuts;
use super::{RenderInput, block, number, plain, questions, table};
use recap_core::model::{Measure, Report, StrategyRow, catalogue};

/// Nothing where no fact was needed at a cut.
pub(super) fn parts(source: &RenderInput<'_>, block: &block::Block<'_>) -> Vec<Part> {
    let report = source.report;
    let Some(kept) = table::kept_at_cuts(report, block) else { return Vec::new() };
    let mut parts = vec![Part::Text(about(report, &block.rows)), Part::Table(kept)];
    let strategies = questions::listed_strategies(report);
    parts.extend(strategies.iter().filter_map(|strategy| facts(source, strategy)));
    if let Some(by_kind) = questions::at_cuts(&report.answered_at_cuts) {
        let title = "Which kinds of questions are still answered".to_owned();
        parts.push(Part::Folded(title, vec![by_kind]));
        parts.extend(strategies.iter().filter_map(|one| questions::of_cuts(source, one)));
    }
    parts
}

/// What a cut and a fact are, how many there are, and what they do not see.
fn about(report: &Report, rows: &[&StrategyRow]) -> String {
    // A row whose replay failed at a cut has fewer.
    let most = |measure: &Measure| {
        rows.iter().filter_map(|row| row.number(measure)).fold(0.0, f64::max) as usize
    };
    let repeated = match report.manifest.replicates {
        0 | 1 => String::new(),
        n => format!(", each strategy’s compactions {n} times over"),
    };
    let depth = match report.manifest.depth {
        1 => "the first one of the strategy".to_owned(),
        depth => format!("in a session {depth} times the window, in which there were others"),
    };
    format!(
        "{} at {}, in {} of {}{repeated}. At a cut a compaction is forced, {depth}. A fact is a \
         path, name or number that the agent used in its next 40 requests and had seen only before; \
         it is kept if it is still in the context. Whether intent, reasons and rules \
         survive, only questions can tell. Who sends more keeps more. No dollars: the bill is \
         another experiment.",
        block::counted(most(catalogue::FACTS_NEEDED), "fact"),
        block::counted(most(catalogue::CUTS), "cut"),
        number::grouped(most(catalogue::SESSIONS_WITH_FACTS) as u64),
        block::counted(report.sessions.len(), "session"),
    )
}

/// What became of the facts under a strategy, those that it lost first; nothing where words are
/// left out.
fn facts(source: &RenderInput<'_>, strategy: &str) -> Option<Part> {
    source.texts?;
    let mut all: Vec<(bool, [String; 5])> = Vec::new();
    for session in source.report.results.iter() {
        let name = plain::short_ids(source.report, session.id);
        let own = cuts::rows(&session).filter(|(_, row)| row.strategy == strategy);
        for (cut, row) in own.filter(|(_, row)| row.replicate == 0) {
            let Some(exam) = row.exam() else { continue };
            for (fact, state) in cut.facts.iter().zip(&exam.states) {
                let request = number::grouped(u64::from(fact.request) + 1);
                let [class, state_name] = [fact.class.as_str(), state.as_str()].map(str::to_owned);
                let cells = [name.clone(), request, fact.text.clone(), class, state_name];
                all.push((!state.is_kept(), cells));
            }
        }
    }
    let lost = all.iter().filter(|(is_lost, _)| *is_lost).count();
    all.sort_by_key(|(is_lost, _)| Reverse(*is_lost));
    let title = format!("{strategy}: {lost} of {} not kept", block::counted(all.len(), "fact"));
    let first = all.into_iter().take(questions::LISTED).map(|(_, cells)| cells);
    let heads =
        [names("session"), figures("request"), names("fact"), words("class"), words("became")];
    TableOf::new(title, first).columns(heads).folded()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Kit, cut};

    #[test]
    fn facts_are_words_of_the_recording() {
        let report = cut(Kit::default().report());
        let texts = Kit::default().texts(&report);
        let listed = |texts| facts(&RenderInput { report: &report, texts }, "prune");
        assert!(listed(Some(&texts)).is_some());
        assert_eq!(listed(None), None);
    }

    #[test]
    fn cuts_with_nothing_examined_have_no_section() {
        let report = Kit::default().report();
        let block = block::blocks(&report).remove(0);
        assert!(parts(&RenderInput { report: &report, texts: None }, &block).is_empty());
    }
}
