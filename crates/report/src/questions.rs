//! The questions on the page: how many of each kind are still answered right, and some of them
//! with both answers. All are in `questions.csv` and `cut_questions.csv`.

use std::collections::BTreeMap;

use indexmap::IndexSet;

use super::document::{Cell, Column, Part, TableOf, absent, figures, names};
use super::sheet::questions::{Asked, each, each_at_cut, expected};
use super::{RenderInput, block, number, plain};
use recap_core::model::{
    Agreement, Answer, AnsweredAtCuts, QuestionKind, QuestionRow, RECORDED, Report, RowKind,
    Source, StrategyRow, catalogue,
};

/// Strategies whose questions or facts are listed, and how many of each.
const STRATEGIES: usize = 4;
pub(super) const LISTED: usize = 60;
/// Characters of a question or an answer.
const WORDS: usize = 300;

/// The strategies whose questions and facts are listed: where the answer is a size, what the agent
/// itself did; that of the answer, then those of the ranking, then offline summaries.
pub(super) fn listed_strategies(report: &Report) -> IndexSet<&str> {
    let chosen = report.recommendation.as_ref().and_then(|of| of.row.as_ref());
    let mut strategies = IndexSet::new();
    if matches!(report.curve, Some(Ok(_))) {
        strategies.insert(RECORDED);
        strategies.extend(report.twin.iter().map(|twin| twin.strategy.as_str()));
    }
    strategies.extend(chosen.map(|place| place.strategy.as_str()));
    for row_kind in [RowKind::Ranked, RowKind::Unusable, RowKind::OfflineSummary] {
        let all = block::strategies(report).into_iter();
        strategies.extend(all.filter(|(_, kind)| *kind == row_kind).map(|(name, _)| name));
    }
    strategies.truncate(STRATEGIES);
    strategies
}

/// What became of the questions of a data set at a window; nothing in a run without any.
pub(super) fn parts(source: &RenderInput<'_>, block: &block::Block<'_>) -> Vec<Part> {
    let report = source.report;
    let kinds = kinds(report, block.dataset);
    if kinds.is_empty() {
        return Vec::new();
    }
    let about = match report.manifest.answered_by() {
        Source::Model => {
            "Questions about the sessions were put to the whole conversation (before) and to what \
             each strategy would have sent (after)."
        }
        Source::Lexical => {
            "The answers to questions about the sessions were looked for in the whole conversation \
             (before) and in what each strategy would have sent (after): one is right where one of \
             the three best passages of the context still states its answer."
        }
    };
    let words = match source.texts {
        Some(_) => "Every question under every strategy is in questions.csv.",
        None => "The words are left out of this report.",
    };
    let mut parts = vec![Part::Text(format!("{about} {words}"))];
    parts.extend(by_kind(&block.rows, &kinds));
    // Questions and answers are words of the recording.
    if source.texts.is_some() {
        for strategy in listed_strategies(report) {
            parts.extend(listed(strategy, of_cells(source, strategy, block.window)));
        }
    }
    parts
}

/// The kinds that occur among the questions of a data set, with their number.
fn kinds(report: &Report, dataset: &str) -> Vec<(QuestionKind, usize)> {
    let sessions = report.sessions.iter();
    let sessions = sessions.filter(|facts| dataset == block::ALL || facts.dataset == dataset);
    let all: Vec<QuestionKind> =
        sessions.flat_map(|facts| &facts.questions).map(|asked| asked.question.kind).collect();
    let count = |kind: QuestionKind| all.iter().filter(|other| **other == kind).count();
    let kinds = QuestionKind::ALL.iter().copied().map(|kind| (kind, count(kind)));
    kinds.filter(|(_, questions)| *questions > 0).collect()
}

/// Of the questions of each kind that the whole conversation answers right, the share that a
/// strategy still does; nothing where no row has such a figure.
fn by_kind(rows: &[&StrategyRow], kinds: &[(QuestionKind, usize)]) -> Option<Part> {
    let figure = |row: &StrategyRow, kind| {
        catalogue::continuity_of(kind).and_then(|measure| row.number(measure))
    };
    let known = |kind| rows.iter().any(|row| figure(row, kind).is_some());
    let kinds: Vec<(QuestionKind, usize)> =
        kinds.iter().copied().filter(|(kind, _)| known(*kind)).collect();
    let mut table = TableOf::new("Answers kept by kind of question", rows)
        .column(names("strategy"), |row| block::label(row))
        .dim(|row| row.row_kind != RowKind::Ranked);
    for of in &kinds {
        let share = |row: &StrategyRow| figure(row, of.0).map(|points| points / 100.0);
        table = table.column(head(of), |row| Cell::known(share(row), number::percent));
    }
    (!kinds.is_empty()).then(|| table.part())
}

/// A kind with its number of questions.
fn head((kind, questions): &(QuestionKind, usize)) -> Column {
    figures(format!("{} ({questions})", kind.as_str()))
}

/// The same right after the cuts, of the questions right from the whole conversation.
pub(super) fn at_cuts(answered: &[AnsweredAtCuts]) -> Option<Part> {
    let mut kinds: BTreeMap<QuestionKind, usize> = BTreeMap::new();
    for (kind, of) in answered.iter().flat_map(|strategy| &strategy.kinds) {
        let most = kinds.entry(*kind).or_default();
        *most = (*most).max(of.before as usize);
    }
    let kinds: Vec<(QuestionKind, usize)> = kinds.into_iter().collect();
    let mut table = TableOf::new("Questions still answered right after a cut, by kind", answered)
        .column(names("strategy"), |strategy| strategy.strategy.clone())
        .dim(|strategy| strategy.row_kind != RowKind::Ranked);
    for of in &kinds {
        table = table.column(head(of), |strategy| match strategy.kinds.get(&of.0) {
            None => absent().into(),
            Some(of) => {
                let share = of.after / of.before as f64;
                let counts = format!("{} of {}", of.after.round(), of.before);
                Cell { spread: Some(counts), ..Cell::figure(share, number::percent(share)) }
            }
        });
    }
    (!kinds.is_empty()).then(|| table.part())
}

/// What compression did to a question, and its row.
type Shown = (Option<Agreement>, [String; 7]);

/// The questions of a strategy at a window.
fn of_cells(source: &RenderInput<'_>, strategy: &str, window: &str) -> Vec<Shown> {
    let mut all = Vec::new();
    let each = each(source, |one| {
        let is_it = (one.strategy, one.window, one.replicate) == (strategy, Some(window), 0);
        all.extend(is_it.then(|| shown(one)));
        Ok(())
    });
    each.expect("nothing is written");
    all
}

/// The questions of a strategy at the cuts, with both answers.
pub(super) fn of_cuts(source: &RenderInput<'_>, strategy: &str) -> Option<Part> {
    let mut all = Vec::new();
    let each = each_at_cut(source, |one| {
        let is_it = (one.strategy, one.replicate) == (strategy, 0);
        all.extend(is_it.then(|| shown(one)));
        Ok(())
    });
    each.expect("nothing is written");
    source.texts.and_then(|_| listed(strategy, all))
}

fn shown(one: &Asked<'_>) -> Shown {
    let question = &one.facts.question;
    let words = |text: &str| plain::shortened(&plain::line(text.trim()), WORDS);
    let answer = |row: &QuestionRow| match row.answered.as_ref().map(|own| &own.answer) {
        Some(Answer::Said(text)) => words(text),
        Some(Answer::Nothing(why)) => format!("no answer: {why}"),
        None => found(row).to_owned(),
    };
    let became = one.agreement();
    let cells = [
        words(&question.question),
        question.kind.as_str().to_owned(),
        words(&expected(&question.expect)),
        one.before.map_or_else(absent, answer),
        answer(one.after),
        became.map_or("not graded", Agreement::as_str).to_owned(),
        one.after.evidence.map_or_else(absent, |state| state.as_str().to_owned()),
    ];
    (became, cells)
}

/// Whether an answer is findable, in words.
fn found(row: &QuestionRow) -> &'static str {
    match row.findable {
        Some(true) => "findable",
        Some(false) => "not findable",
        None => "no value to find",
    }
}

/// Questions of a strategy, those that it lost first; nothing without any.
fn listed(strategy: &str, mut all: Vec<Shown>) -> Option<Part> {
    all.sort_by_key(|(became, _)| *became != Some(Agreement::Lost));
    let count = block::counted(all.len(), "question");
    let title = format!("{strategy}: {count}, those that it lost first");
    let others = ["kind", "expected", "before", "after", "became", "evidence"];
    let [kind, expected, before, after, became, evidence] = others.map(names);
    let question = names("question").wrapped();
    TableOf::new(title, all.into_iter().take(LISTED).map(|(_, cells)| cells))
        .columns([question, kind, expected, before, after, became, evidence])
        .folded()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::Answered;

    #[test]
    fn questions_by_kind_count_only_those_full_answers() {
        // Of five plans one is still answered, of five artifacts all; the other strategy was asked
        // nothing of artifacts.
        let of = |after: u32| Answered { before: 5, after: f64::from(after) };
        let strategy = |strategy: &str, kinds: Vec<(QuestionKind, Answered)>| AnsweredAtCuts {
            strategy: strategy.to_owned(),
            row_kind: RowKind::Ranked,
            kinds: kinds.into_iter().collect(),
        };
        let both = vec![(QuestionKind::Plan, of(1)), (QuestionKind::Artifact, of(5))];
        let plan = vec![(QuestionKind::Plan, of(5))];
        let table = at_cuts(&[strategy("a", both), strategy("b", plan)]);
        let Some(Part::Table(table)) = table else { panic!("it is a table") };
        let labels: Vec<String> = table.columns.iter().map(Column::label).collect();
        let plan = labels.iter().position(|label| label == "plan (5)").unwrap();
        let row = |at: usize| &table.groups[0].rows[at].cells;
        assert_eq!((&*row(0)[plan].text, row(0)[plan].spread.as_deref()), ("20 %", Some("1 of 5")));
        assert_eq!(row(1)[3 - plan].text, "–");
        assert!(at_cuts(&[]).is_none());
    }
}
