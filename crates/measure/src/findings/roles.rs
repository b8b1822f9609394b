//! Findings on the answerer, the judge and the compactor: what scores can show
//! (reference §6 and §7).

use std::collections::BTreeMap;

use super::{Evidence, among_cells};
use recap_core::model::{
    Answer, Cell, Limit, NoGrade, Primary, Problem, QuestionRow, RowKind, Source, Ungraded, Verdict,
};

/// Largest number of reasons in a report.
const REASONS: usize = 5;

/// A model that grades, whose error was not measured.
pub(super) fn uncalibrated(run: &Evidence<'_>) -> Option<Limit> {
    let judges = || run.manifest.judges().map(str::to_owned).collect();
    let judge = run.manifest.judge.clone();
    (run.manifest.graded_by() == Source::Model && run.asks())
        .then(|| Limit::Uncalibrated { judge, judges: judges() })
}

/// Judges that contradict each other, so that not all can be right.
pub(super) fn at_odds(run: &Evidence<'_>) -> Option<Problem> {
    let panel = run.panel.filter(|panel| panel.is_doubtful())?;
    Some(Problem::JudgesDisagree {
        judges: panel.judges[..2].to_vec(),
        kappa: panel.kappa?,
        answers: panel.both,
    })
}

/// What scores without a model in a role can show.
pub fn offline(run: &Evidence<'_>) -> Option<Limit> {
    let manifest = run.manifest;
    let limit = match (manifest.answered_by(), manifest.graded_by()) {
        (Source::Model, Source::Model) => None,
        (Source::Model, Source::Lexical) => {
            Some(Limit::OfflineJudge { answerer: manifest.answerer.clone() })
        }
        (Source::Lexical, _) => Some(Limit::NoAnswerer),
    };
    limit.filter(|_| run.asks())
}

/// Summaries in a model's own words, which a comparison of words may not recognise.
pub(super) fn paraphrased(run: &Evidence<'_>) -> Option<Limit> {
    let manifest = run.manifest;
    let has_models = [manifest.answered_by(), manifest.graded_by()] == [Source::Model; 2];
    if manifest.compacted_by() == Source::Lexical || has_models || !run.asks() {
        return None;
    }
    let (strategies, compactor) = (summed_up(run), manifest.compactor.clone());
    (!strategies.is_empty()).then_some(Limit::Paraphrased { compactor, strategies })
}

/// Rows at whose cuts a model's sentences count as kept where they hold the
/// identifiers and the words around them.
pub(super) fn sentences_unread(run: &Evidence<'_>) -> Option<Limit> {
    if run.manifest.compacted_by() == Source::Lexical || run.primary != Primary::FactsKept {
        return None;
    }
    let (strategies, compactor) = (summed_up(run), run.manifest.compactor.clone());
    (!strategies.is_empty()).then_some(Limit::SentencesUnread { compactor, strategies })
}

/// The strategies for which a model wrote summaries, in a whole session or at a cut.
fn summed_up(run: &Evidence<'_>) -> Vec<String> {
    let mut names = among_cells(run.results, |cell| {
        let rows = cell.rows().filter(|_| cell.row_kind != RowKind::Control);
        let wrote = rows.is_some_and(|rows| rows.compactions.iter().any(|c| c.model_calls > 0));
        wrote.then(|| cell.key.strategy.clone()).into_iter().collect()
    });
    for session in run.results.iter() {
        let rows = session.cuts().iter().flat_map(|cut| &cut.rows);
        let wrote = rows.filter(|row| row.exam().is_some_and(|exam| !exam.replies.is_empty()));
        names.extend(wrote.map(|row| row.strategy.clone()));
    }
    Vec::from_iter(names)
}

/// Facts at cuts on whose statements the judge gave no usable reply.
fn unchecked(run: &Evidence<'_>) -> Option<Problem> {
    let (mut facts, mut cuts) = (0, 0);
    for session in run.results.iter() {
        let rows = session.cuts().iter().flat_map(|cut| &cut.rows);
        for count in rows.filter_map(|row| Some(row.exam()?.unchecked as usize)) {
            facts += count;
            cuts += usize::from(count > 0);
        }
    }
    (cuts > 0).then_some(Problem::Unchecked { facts, cuts })
}

/// The place of an answer's question: data set, session, question.
type QuestionKey = (String, String, u32);

/// Answers without a grade, by reason (reference §5). Answers that cannot be
/// graded are distinguished from occasional failures of a model.
pub fn ungraded(run: &Evidence<'_>) -> Vec<Problem> {
    let mut asked: BTreeMap<QuestionKey, usize> = BTreeMap::new();
    let mut reasons: BTreeMap<String, (NoGrade, BTreeMap<QuestionKey, usize>)> = BTreeMap::new();
    for session in run.results.iter() {
        for (cell, row) in session.cells().iter().flat_map(rows) {
            let place = (cell.key.dataset.clone(), cell.key.session.clone(), row.question);
            if let Some(Verdict::Unscored(reason)) = row.verdict() {
                let (_, places) = reasons
                    .entry(reason.to_string())
                    .or_insert_with(|| (reason.clone(), BTreeMap::new()));
                *places.entry(place.clone()).or_default() += 1;
            }
            *asked.entry(place).or_default() += 1;
        }
    }
    let (answers, of) = (asked.values().sum::<usize>(), asked.len());
    let each = reasons.into_values().map(|(reason, places)| Ungraded {
        answered: !matches!(reason, NoGrade::NotAnswered(_)),
        throughout: places.iter().all(|(place, n)| asked[place] == *n),
        missing: places.values().sum(),
        answers,
        questions: places.len(),
        of,
        why: describe(&reason),
    });
    let mut each: Vec<Ungraded> = each.collect();
    let uneven = each.iter().any(|ungraded| !ungraded.throughout);
    // The sort is stable: reasons with equal numbers keep their alphabetical
    // order.
    each.sort_by_key(|ungraded| std::cmp::Reverse(ungraded.missing));
    let others = each.split_off(each.len().min(REASONS));
    let mut found: Vec<Problem> = each.into_iter().map(Problem::Ungraded).collect();
    if !others.is_empty() {
        let missing = others.iter().map(|ungraded| ungraded.missing).sum();
        found.push(Problem::UngradedOtherwise { missing, answers, reasons: others.len() });
    }
    found.extend(uneven.then_some(Problem::UnevenQuestions));
    found.extend(unchecked(run));
    found
}

/// Missing searches and answers with a recovery channel. Answers that cannot be
/// graded are already reported elsewhere.
pub(super) fn unrecovered(run: &Evidence<'_>) -> Vec<Problem> {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut answers = 0;
    for session in run.results.iter() {
        let rows = session.cells().iter().flat_map(rows);
        for recovered in rows.filter_map(|(_, row)| row.recovered.as_ref()) {
            answers += 1;
            if let Answer::Nothing(why) = &recovered.answered.answer {
                *reasons.entry(why.to_string()).or_default() += 1;
            }
        }
    }
    let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, missing)| std::cmp::Reverse(*missing));
    let found = reasons.into_iter().take(REASONS).map(|(reason, missing)| Problem::Unrecovered {
        missing,
        answers,
        reason,
    });
    found.collect()
}

/// A reason without the words that the finding already contains.
fn describe(reason: &NoGrade) -> String {
    match reason {
        NoGrade::Judge(reply) => reply.to_string(),
        NoGrade::NotAnswered(why) => why.to_string(),
        NoGrade::Kind(_)
        | NoGrade::Rubric
        | NoGrade::NoJudge(_)
        | NoGrade::Disagreement(_)
        | NoGrade::Other(_) => reason.to_string(),
    }
}

fn rows(cell: &Cell) -> impl Iterator<Item = (&Cell, &QuestionRow)> {
    let rows = cell.rows().map_or(&[][..], |rows| &rows.questions);
    rows.iter().map(move |row| (cell, row))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, of_run};
    use crate::measure;
    use crate::testkit::{self, CellBuilder, cell, facts, manifest, vote};
    use recap_core::model::{
        Answer, Cell, CellOutcome, CellRows, Cut, CutExam, CutOutcome, CutRow, Finding, Manifest,
        NoGrade, NoReply, Primary, QuestionKind, RowKind, RunResults, SessionFacts, Source,
        Verdict,
    };

    /// A session in which so many facts are asked at request 1.
    fn asking(questions: usize) -> SessionFacts {
        let session = facts("s").requests(&[1_000, 2_000]);
        (0..questions).fold(session, |s, _| s.question(QuestionKind::Fact, 1, 3_000)).build()
    }

    fn answers(strategy: &str, outcomes: &str) -> CellBuilder {
        let cell = cell("s", strategy).sent(&[1_000, 500]).compaction(1_000, 500);
        cell.snapshot(1, 1).answers(outcomes)
    }

    fn full(outcomes: &str) -> Cell {
        let cell = cell("s", "full").control().sent(&[1_000, 2_000]);
        cell.snapshot(1, 0).answers(outcomes).build()
    }

    /// A cell for which a model wrote the summary.
    fn summed_up(strategy: &str, outcomes: &str) -> Cell {
        answers(strategy, outcomes).with_compaction(|row| row.model_calls = 1).build()
    }

    fn rows(cell: &mut Cell) -> &mut CellRows {
        let CellOutcome::Done(rows) = &mut cell.outcome else { unreachable!() };
        rows
    }

    /// A run with this compactor, answerer and judge.
    fn found(roles: [&str; 3], facts: SessionFacts, cells: Vec<Cell>) -> Vec<Finding> {
        let [compactor, answerer, judge] = roles.map(str::to_owned);
        let mut manifest = Manifest { compactor, answerer, judge, ..manifest(&["25%"]) };
        if (manifest.answered_by(), manifest.graded_by()) == (Source::Model, Source::Model) {
            manifest.source = Source::Model;
        }
        measure(manifest, "d".into(), vec![facts], RunResults::new(cells, [])).findings
    }

    const OFFLINE: [&str; 3] = ["offline"; 3];
    const MODELS: [&str; 3] = ["openai/c", "openai/a", "openai/j"];

    #[test]
    fn uncalibrated() {
        let idle = || vec![cell("s", "x").sent(&[1_000, 500]).build()];
        let panel = ["offline", "offline", "openai/j + offline"];
        check(
            "uncalibrated",
            [
                ("two judges", found(panel, asking(2), vec![full("RR")])),
                ("no model grades", found(OFFLINE, asking(2), vec![full("RR")])),
                ("nothing is asked", found(MODELS, asking(0), idle())),
            ],
        );
    }

    #[test]
    fn offline_roles() {
        let of = |roles, cells: Vec<Cell>| found(roles, asking(2), cells);
        let both = || vec![full("RR"), summed_up("sum", "RR")];
        let unasked = || {
            let mut cell = summed_up("sum", "RR");
            rows(&mut cell).questions.clear();
            found(["openai/c", "offline", "offline"], asking(0), vec![cell])
        };
        let control = Cell { row_kind: RowKind::Control, ..summed_up("recorded", "RR") };
        let unwritten = vec![full("RR"), answers("mask", "RR").build(), control];
        let offline = answers("continuation", "RR").offline_summary().build();
        check(
            "offline_roles",
            [
                ("no model in any role", of(OFFLINE, vec![full("RR"), offline])),
                ("a compactor alone", of(["openai/c", "offline", "offline"], both())),
                (
                    "a compactor that wrote nothing",
                    of(["openai/c", "offline", "offline"], unwritten),
                ),
                ("no judge", of(["openai/c", "openai/a", "offline"], both())),
                ("models in all roles", of(MODELS, both())),
                ("nothing is asked", unasked()),
                ("facts at cuts", of_cuts("openai/c", [cut(0), cut(0)])),
                ("facts at cuts, no compactor", of_cuts("offline", [cut(0), cut(0)])),
            ],
        );
    }

    /// A cut at which the compactor replied once and left so many facts unchecked.
    fn cut(unchecked: u32) -> Cut {
        let mut exam = CutExam::of_states(8_000, 3_000, Vec::new());
        (exam.replies, exam.unchecked) = (vec![testkit::reply(0, 0)], unchecked);
        let outcome = CutOutcome::Done(Box::new(exam));
        let (strategy, row_kind) = ("sum".into(), RowKind::Ranked);
        testkit::cut("s", Vec::new(), vec![CutRow { strategy, replicate: 0, row_kind, outcome }])
    }

    fn of_cuts(compactor: &str, cuts: [Cut; 2]) -> Vec<Finding> {
        let manifest = Manifest { compactor: compactor.into(), ..manifest(&["25%"]) };
        let results = RunResults::new([], cuts);
        of_run(&manifest, Primary::FactsKept, &[], &[], &results)
    }

    #[test]
    fn judges_disagree() {
        let cast = |mut cell: Cell, votes: [&str; 2]| {
            for (row, votes) in rows(&mut cell).questions.iter_mut().zip(votes) {
                vote(&mut row.answered.as_mut().unwrap().judgement, votes);
            }
            cell
        };
        let of = |first, second| {
            let cells = vec![cast(full("RR"), first), cast(summed_up("sum", "RR"), second)];
            found(["offline", "openai/x", "a + b + c"], asking(2), cells)
        };
        check(
            "judges_disagree",
            [
                // Under each strategy they agree on one of two answers: so would chance.
                ("on half of the answers", of(["rr", "rwr"], ["ww", "wrw"])),
                ("on no answer", of(["rr", "rr"], ["ww", "rr"])),
            ],
        );
    }

    /// A cell whose first answers have these reasons for no grade.
    fn unscored(questions: usize, reasons: &[&str]) -> Cell {
        let mut cell = summed_up("sum", &"R".repeat(questions));
        for (row, reason) in rows(&mut cell).questions.iter_mut().zip(reasons) {
            let verdict = &mut row.answered.as_mut().unwrap().judgement.verdict;
            *verdict = Verdict::Unscored(NoGrade::from((*reason).to_owned()));
        }
        cell
    }

    #[test]
    fn ungraded() {
        let of = |questions, cells| found(MODELS, asking(questions), cells);
        let both = |reason| of(2, vec![full("RR"), unscored(2, &[reason])]);
        let eight = ["zeal", "zeal", "e", "d", "c", "b", "a", "f"];
        let searching = || answers("x", "rr").recovers("ru", &[(1, 10), (0, 0)]).build();
        let mut refused = searching();
        let recovered = rows(&mut refused).questions[1].recovered.as_mut().unwrap();
        recovered.answered.answer = Answer::Nothing(NoReply::Refused.into());
        let rare = vec![full(&"R".repeat(20)), unscored(20, &["zeal", "zeal"])];
        check(
            "ungraded",
            [
                ("under each strategy", of(2, vec![full("uR"), summed_up("sum", "uR")])),
                ("under one", of(2, vec![full("RR"), summed_up("sum", "uR")])),
                ("a twentieth of the answers", of(20, rare)),
                ("no answer", both("not answered: the model refused")),
                ("no grade", both("not graded: the model refused")),
                ("seven reasons", of(8, vec![unscored(8, &eight)])),
                ("nobody could grade a search", of(2, vec![full("RR"), searching()])),
                ("no answer from a search", of(2, vec![full("RR"), refused])),
                ("facts that no judge checked", of_cuts("openai/c", [cut(3), cut(0)])),
                ("all graded", of(2, vec![full("RR"), summed_up("sum", "RR")])),
            ],
        );
    }
}
