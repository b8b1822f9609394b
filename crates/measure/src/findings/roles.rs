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
    use crate::measure;
    use crate::testkit::{cell, facts, manifest, vote, warnings};
    use recap_core::model::{
        Answer, Cell, CellOutcome, Manifest, NoGrade, NoReply, QuestionKind, Report, RunResults,
        SessionFacts, Source, Verdict,
    };

    /// Two facts that are asked at request 1.
    fn two() -> SessionFacts {
        let builder = facts("s").requests(&[1_000, 2_000]).question(QuestionKind::Fact, 1, 3_000);
        builder.question(QuestionKind::Fact, 1, 3_000).build()
    }

    fn full(outcomes: &str) -> Cell {
        let cell = cell("s", "full").control().sent(&[1_000, 2_000]);
        cell.snapshot(1, 0).answers(outcomes).build()
    }

    fn folded(outcomes: &str) -> Cell {
        let cell = cell("s", "continuation").sent(&[1_000, 500]).compaction(1_000, 500);
        let mut cell = cell.snapshot(1, 1).answers(outcomes).build();
        rows(&mut cell).compactions[0].model_calls = 1;
        cell
    }

    fn rows(cell: &mut Cell) -> &mut recap_core::model::CellRows {
        let CellOutcome::Done(rows) = &mut cell.outcome else { unreachable!() };
        rows
    }

    fn seated(compactor: &str, answerer: &str, judge: &str) -> Manifest {
        let names = [compactor, answerer, judge].map(str::to_owned);
        let [compactor, answerer, judge] = names;
        let mut manifest = Manifest { compactor, answerer, judge, ..manifest(&["25%"]) };
        if (manifest.answered_by(), manifest.graded_by()) == (Source::Model, Source::Model) {
            manifest.source = Source::Model;
        }
        manifest
    }

    fn run(manifest: Manifest, cells: Vec<Cell>) -> Report {
        measure(manifest, "d".into(), vec![two()], RunResults::new(cells, []))
    }

    /// The warnings of a run with these roles.
    fn warned(compactor: &str, answerer: &str, judge: &str) -> Vec<String> {
        warnings(&run(seated(compactor, answerer, judge), vec![full("RR"), folded("RR")]))
    }

    fn says(warnings: &[String], words: &str) -> bool {
        warnings.iter().any(|warning| warning.contains(words))
    }

    #[test]
    fn missing_recovery_answers_are_reported_with_reason() {
        let cell = cell("s", "x").sent(&[1_000, 500]).snapshot(1, 0).answers("rr");
        let mut searching = cell.recovers("ru", &[(1, 10), (0, 0)]).build();
        let warned = |searching: &Cell| {
            let cells = vec![full("RR"), searching.clone()];
            warnings(&run(seated("offline", "offline", "offline"), cells))
        };
        let channel = "with a recovery channel: ";
        assert!(!says(&warned(&searching), channel), "nobody could grade it");
        let recovered = rows(&mut searching).questions[1].recovered.as_mut().unwrap();
        recovered.answered.answer = Answer::Nothing(NoReply::Refused.into());
        let actual = "no answer came 1 of 2 times with a recovery channel: the model refused";
        assert!(says(&warned(&searching), actual), "{:?}", warned(&searching));
    }

    #[test]
    fn model_judge_limit_names_its_calibration_command() {
        let found = warned("offline", "offline", "openai/j + offline");
        assert!(says(&found, "the judge openai/j + offline is not calibrated"));
        let command = "`recap judge calibrate FILE --judge openai/j --judge offline`";
        assert!(says(&found, command), "{found:#?}");
        assert!(says(&found, "kappa 0.7 on and below 5 %"), "{found:#?}");
        let offline = warned("openai/c", "openai/a", "offline");
        assert!(!says(&offline, "not calibrated"), "{offline:?}");
        let mut unasked = two();
        unasked.questions.clear();
        let idle = cell("s", "x").sent(&[1_000, 500]).build();
        let manifest = seated("offline", "offline", "openai/j");
        let report = measure(manifest, "d".into(), vec![unasked], RunResults::new(vec![idle], []));
        assert!(!says(&warnings(&report), "calibrated"), "{:?}", warnings(&report));
    }

    #[test]
    fn score_meaning_depends_on_answerer_and_judge() {
        let nobody = "no model answers the questions: one counts where one of the three best";
        let answered = "what openai/a answers is graded offline";
        for (answerer, judge, said) in [
            ("offline", "offline", Some(nobody)),
            ("openai/a", "offline", Some(answered)),
            ("openai/a", "openai/j", None),
        ] {
            let warnings = warned("offline", answerer, judge);
            for words in [nobody, answered] {
                assert_eq!(says(&warnings, words), said == Some(words), "{words}: {warnings:?}");
            }
        }
    }

    #[test]
    fn model_summaries_are_reported_where_roles_compare_words() {
        let flagged = |answerer, judge| warned("openai/c", answerer, judge);
        let words = "words are compared without a model";
        assert!(says(&flagged("offline", "offline"), words));
        assert!(says(&flagged("offline", "offline"), "the scores of continuation are too low"));
        assert!(says(&flagged("openai/a", "offline"), words));
        for roles in [("openai/c", "openai/a", "openai/j"), ("offline", "offline", "offline")] {
            assert!(!says(&warned(roles.0, roles.1, roles.2), "words are compared"), "{roles:?}");
        }
        let unfolded =
            vec![full("RR"), cell("s", "x").sent(&[1, 1]).snapshot(1, 1).answers("RR").build()];
        let report = run(seated("openai/c", "offline", "offline"), unfolded);
        assert!(!says(&warnings(&report), "words are compared"), "no model wrote anything");
    }

    #[test]
    fn contradicting_judges_are_reported() {
        // Under each strategy the judges agree on one of two answers: so would
        // chance, and kappa is 0.
        let cast = |mut cell: Cell, votes: [&str; 2]| {
            let rows = rows(&mut cell);
            rows.questions
                .iter_mut()
                .zip(votes)
                .for_each(|(row, cast)| vote(&mut row.answered.as_mut().unwrap().judgement, cast));
            cell
        };
        let of = |first, second| {
            let cells = vec![cast(full("RR"), first), cast(folded("RR"), second)];
            run(seated("offline", "openai/x", "a + b + c"), cells)
        };
        let report = of(["rr", "rwr"], ["ww", "wrw"]);
        assert_eq!(report.panel.as_ref().unwrap().kappa, Some(0.0));
        let words = "kappa 0.00 between a and b on 4 answers, below 0.7";
        assert!(says(&warnings(&report), words), "{:?}", warnings(&report));
        let report = of(["rr", "rr"], ["ww", "rr"]);
        assert!(!says(&warnings(&report), "judges disagree"), "{:?}", warnings(&report));
    }

    #[test]
    fn ungradable_answers_are_distinguished_from_model_failures() {
        let report = run(seated("offline", "openai/a", "openai/j"), vec![full("uR"), folded("uR")]);
        assert!(says(&warnings(&report), "1 of 2 questions is not graded: no judge"));
        assert!(!says(&warnings(&report), "different questions"), "all rest on the same");
        let report = run(seated("offline", "openai/a", "openai/j"), vec![full("RR"), folded("uR")]);
        let words = "1 of 4 answers, to 1 of 2 questions, is not graded: no judge";
        assert!(says(&warnings(&report), words), "{:?}", warnings(&report));
        assert!(says(&warnings(&report), "rest on somewhat different questions"));
    }

    #[test]
    fn a_missing_answer_is_not_reported_as_ungraded() {
        let unanswered = |outcomes, reason: &str| {
            let mut cell = folded(outcomes);
            let verdict =
                &mut rows(&mut cell).questions[0].answered.as_mut().unwrap().judgement.verdict;
            *verdict = Verdict::Unscored(NoGrade::from(reason.to_owned()));
            warnings(&run(seated("offline", "openai/a", "openai/j"), vec![full("RR"), cell]))
        };
        let refused = unanswered("uR", "not answered: the model refused");
        assert!(says(
            &refused,
            "no answer came 1 of 4 times, to 1 of 2 questions: the model refused"
        ));
        let failed = unanswered("uR", "not graded: the model refused");
        let words = "1 of 4 answers, to 1 of 2 questions, is not graded: the model refused";
        assert!(says(&failed, words), "{failed:?}");
    }

    #[test]
    fn of_many_reasons_the_most_frequent_are_reported() {
        let mut builder = facts("s").requests(&[1_000, 2_000]);
        for _ in 0..8 {
            builder = builder.question(QuestionKind::Fact, 1, 3_000);
        }
        let mut cell = folded("uuuuuuuu");
        for (at, row) in rows(&mut cell).questions.iter_mut().enumerate() {
            let reason = if at < 2 { "zeal".to_owned() } else { format!("reason {at}") };
            row.answered.as_mut().unwrap().judgement.verdict =
                Verdict::Unscored(NoGrade::Other(reason));
        }
        let manifest = seated("offline", "openai/a", "openai/j");
        let report =
            measure(manifest, "d".into(), vec![builder.build()], RunResults::new(vec![cell], []));
        let actual: Vec<String> =
            warnings(&report).into_iter().filter(|w| w.contains("not graded")).collect();
        assert_eq!(actual.len(), 6, "{actual:?}");
        assert_eq!(actual[0], "2 of 8 questions are not graded: zeal");
        assert_eq!(
            actual[5],
            "2 of 8 answers are missing or not graded for 2 other reasons: see questions.csv"
        );
    }

    #[test]
    fn only_strategies_with_model_summaries_are_called_paraphrased() {
        let idle = |strategy: &str, calls: u32| {
            let cell = cell("s", strategy).sent(&[1_000, 500]).compaction(1_000, 500);
            let mut cell = cell.snapshot(1, 1).answers("RR").build();
            rows(&mut cell).compactions[0].model_calls = calls;
            cell
        };
        let control = |mut cell: Cell| {
            cell.row_kind = recap_core::model::RowKind::Control;
            cell
        };
        let actual = |cells: Vec<Cell>| {
            let report = run(seated("openai/c", "offline", "offline"), cells);
            warnings(&report).into_iter().find(|warning| warning.contains("words are compared"))
        };
        let all = || vec![full("RR"), idle("mask", 0), control(idle("recorded", 2))];
        assert_eq!(actual(all()), None);
        let mut all = all();
        all.push(idle("sum", 1));
        let said = actual(all).unwrap();
        assert!(said.contains("the scores of sum are too low"), "{said}");
        // Where nothing is asked nothing is compared.
        let mut unasked = two();
        unasked.questions.clear();
        let mut cell = folded("RR");
        rows(&mut cell).questions.clear();
        let manifest = seated("openai/c", "offline", "offline");
        let report = measure(manifest, "d".into(), vec![unasked], RunResults::new(vec![cell], []));
        assert!(!says(&warnings(&report), "words are compared"), "{:?}", warnings(&report));
    }
}
