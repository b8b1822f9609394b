//! Findings on whether everything ran: cells; what the answerer, the judge and the compactor did,
//! and what scores can show without them (reference §6 and §7); compactions without effect.

use std::collections::{BTreeMap, BTreeSet};

use super::{Evidence, among_cells, joined, most_frequent};
use crate::figures::rows::Entry;
use recap_core::model::{
    Answer, Cell, Fallbacks, FilterAnswers, Finding, Primary, QuestionRow, RowKind, Source,
    TRUSTED_FALSE_ACCEPTS, TRUSTED_KAPPA, Verdict, catalogue,
};
use recap_core::text::{counted, form_for, grouped};
use recap_core::wording::number::{self, percent};

pub(super) fn findings(run: &Evidence<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(incomplete(run));
    found.extend(failed_cells(run));
    found.extend(filter_answers(run));
    found.extend(notice(run));
    found.extend(judges_disagree(run));
    found.extend(ungraded(run));
    found.extend(unchecked(run));
    found.extend(no_answers_or_grades(run));
    found.extend(offline_summaries(run));
    found.extend(summaries_of_a_model(run));
    found.extend(uncalibrated(run));
    found.extend(unusable_replies(run));
    found.extend(idle_compactions(run));
    found
}

/// An interrupted run.
fn incomplete(run: &Evidence<'_>) -> Option<Finding> {
    let text = run.missing?.to_string();
    Some(Finding::problem("incomplete", text).changing_figures(true).weighing(1.0))
}

/// Cells that failed, so that some rows cover fewer sessions than others.
fn failed_cells(run: &Evidence<'_>) -> Option<Finding> {
    let rows = run.rows.iter().map(|e| &e.row).filter(|row| !row.failed.is_empty());
    let strategies: BTreeSet<&str> = rows.clone().map(|row| row.strategy.as_str()).collect();
    strategies.first()?;
    let failed: usize = rows.map(|row| row.failed.len()).sum();
    let cells: usize = run.results.iter().map(|session| session.cells().len()).sum();
    let text = format!(
        "{failed} of {} failed ({}): their rows rest on other sessions than the rest and are not \
         ranked",
        counted(cells, "cell"),
        Vec::from_iter(strategies).join(", ")
    );
    Some(Finding::problem("failed_cells", text).changing_figures(true))
}

/// Answers of a filter that could not be used, and those without any text.
fn filter_answers(run: &Evidence<'_>) -> Vec<Finding> {
    let mut filters: BTreeMap<String, FilterAnswers> = BTreeMap::new();
    for session in run.results.iter() {
        // A session passes once, whatever the window.
        let mut seen = BTreeSet::new();
        for cell in session.cells() {
            let Some(saver) = cell.rows().and_then(|rows| rows.saver.as_ref()) else { continue };
            if seen.insert(&cell.key.strategy) {
                let sum = filters.entry(cell.key.strategy.clone()).or_default();
                sum.used += saver.answers.used;
                sum.refused += saver.answers.refused;
                sum.empty += saver.answers.empty;
                let first = sum.first_refused.take();
                sum.first_refused = first.or_else(|| saver.answers.first_refused.clone());
            }
        }
    }
    let mut found = Vec::new();
    for (strategy, answers) in filters {
        let FilterAnswers { used, refused, empty, first_refused } = answers;
        let all = counted((used + refused) as usize, "result");
        if let Some(first) = first_refused {
            let text = format!(
                "{strategy}: {refused} of {all} stand as recorded, since their answers could not \
                 be used (first {first})"
            );
            found.push(Finding::problem("filter_answers", text).changing_figures(true));
        }
        if empty > 0 {
            let text = format!("{strategy}: {empty} of {all} arrive empty");
            found.push(Finding::problem("filter_answers", text));
        }
    }
    found
}

/// Messages from reading the inputs or from calling models.
fn notice(run: &Evidence<'_>) -> Vec<Finding> {
    run.manifest.warnings.iter().map(|text| Finding::problem("notice", text)).collect()
}

/// Largest number of reasons in a report.
const REASONS: usize = 5;
/// Share of ungraded answers from which a figure is questioned (how-it-works §41).
const QUESTIONED: f64 = 0.05;
/// The result of `recap judge calibrate` for the judge without a model;
/// `tests/suite/judge_real.rs` measures it again.
const UNTRUSTED: &str = "the offline judge accepts too many answers that people find wrong (`recap \
                         judge calibrate`)";

/// What is known where nobody answers.
const UNANSWERED: &str = "no model answers the questions: one counts where one of the three best \
                          passages of the context still states its answer, which ranks strategies \
                          and says nothing of what a model answers";

impl Evidence<'_> {
    /// This weight where answers rank, else none.
    fn where_asked(&self, weight: f64) -> f64 {
        if self.primary == Primary::Continuity { weight } else { 0.0 }
    }
}

/// Judges that contradict each other, so that not all can be right.
fn judges_disagree(run: &Evidence<'_>) -> Option<Finding> {
    let panel = run.panel.filter(|panel| panel.is_doubtful())?;
    let kappa = panel.kappa?;
    let text = format!(
        "the judges disagree: kappa {kappa:.2} between {} on {}, below {TRUSTED_KAPPA}; scores depend \
         on who grades",
        panel.judges[..2].join(" and "),
        counted(panel.both, "answer")
    );
    let found = Finding::problem("judges_disagree", text).changing_figures(true);
    Some(found.weighing(run.where_asked(0.95)))
}

/// What scores without an answerer or a judge can show.
fn no_answers_or_grades(run: &Evidence<'_>) -> Option<Finding> {
    let manifest = run.manifest;
    let text = match (manifest.answered_by(), manifest.graded_by()) {
        _ if !run.asks() => return None,
        (Source::Model, Source::Model) => return None,
        (Source::Model, Source::Lexical) => format!(
            "what {} answers is graded offline, by words: what is right in other words may count as \
             wrong; {UNTRUSTED}; `recap judge RUN --judge MODEL` has the same answers graded by a \
             model",
            manifest.answerer
        ),
        (Source::Lexical, _) => UNANSWERED.to_owned(),
    };
    Some(Finding::limit("offline_roles", text).weighing(run.where_asked(0.6)))
}

/// Strategies whose summaries a model should write, where none does.
fn offline_summaries(run: &Evidence<'_>) -> Option<Finding> {
    let rows = run.rows.iter().filter(|e| e.row.row_kind == RowKind::OfflineSummary);
    let names: BTreeSet<&str> = rows.map(|e| e.row.strategy.as_str()).collect();
    names.first()?;
    let text = format!(
        "offline summaries, not ranked: {}. Their summaries come from the {} compactor, so these \
         rows measure it and not the strategy",
        Vec::from_iter(names).join(", "),
        run.manifest.compactor
    );
    Some(Finding::limit("offline_roles", text))
}

/// What a comparison of words may not see in the summaries of a model.
fn summaries_of_a_model(run: &Evidence<'_>) -> Option<Finding> {
    let manifest = run.manifest;
    let strategies = summed_up(run)?;
    let has_models = [manifest.answered_by(), manifest.graded_by()] == [Source::Model; 2];
    let about = match run.primary {
        Primary::FactsKept => {
            "a fact counts as kept where its identifier stands among its own words, so a sentence \
             that denies it or takes another subject may count too (in a trial 0.83 and 0.44 of the \
             facts)"
        }
        Primary::Continuity if !has_models => {
            "words are compared without a model, so what is said otherwise counts as lost, and \
             scores are too low rather than too high"
        }
        _ => return None,
    };
    let text = format!("{} wrote the summaries of {strategies}: {about}", manifest.compactor);
    Some(Finding::limit("offline_roles", text))
}

/// The strategies for which a model wrote summaries, in a whole session or at a cut.
fn summed_up(run: &Evidence<'_>) -> Option<String> {
    if run.manifest.compacted_by() == Source::Lexical {
        return None;
    }
    let mut names = among_cells(run.results, |cell| {
        let rows = cell.rows().filter(|_| cell.row_kind != RowKind::Control);
        let wrote = rows.is_some_and(|rows| rows.compactions.iter().any(|c| c.model_calls > 0));
        wrote.then(|| cell.key.strategy.clone())
    });
    for session in run.results.iter() {
        let rows = session.cuts().iter().flat_map(|cut| &cut.rows);
        let wrote = rows.filter(|row| row.exam().is_some_and(|exam| !exam.replies.is_empty()));
        names.extend(wrote.map(|row| row.strategy.clone()));
    }
    names.first()?;
    Some(Vec::from_iter(names).join(", "))
}

/// A model that grades, whose error was not measured.
fn uncalibrated(run: &Evidence<'_>) -> Option<Finding> {
    if run.manifest.graded_by() == Source::Lexical || !run.asks() {
        return None;
    }
    let judges: String = run.manifest.judges().map(|judge| format!(" --judge {judge}")).collect();
    let text = format!(
        "the judge {} is not calibrated by this run, so how often it is wrong is not known: `recap \
         judge calibrate FILE{judges}` measures it on answers that people graded; it may be trusted \
         from kappa {TRUSTED_KAPPA} on and below {} of wrong answers accepted, by the upper bound",
        run.manifest.judge,
        percent(TRUSTED_FALSE_ACCEPTS)
    );
    Some(Finding::limit("uncalibrated", text).weighing(run.where_asked(0.5)))
}

/// Answers without a grade, those with a recovery channel included, by reason (reference §5).
fn ungraded(run: &Evidence<'_>) -> Option<Finding> {
    let (mut answers, mut reasons) = (0_usize, BTreeMap::<String, u64>::new());
    for session in run.results.iter() {
        for row in session.cells().iter().flat_map(questions) {
            for given in row.graded() {
                answers += 1;
                let reason = match (&given.answer, &given.judgement.verdict) {
                    (Answer::Nothing(why), _) => format!("not answered: {why}"),
                    (_, Verdict::Unscored(reason)) => reason.to_string(),
                    _ => continue,
                };
                *reasons.entry(reason).or_default() += 1;
            }
        }
    }
    let missing: u64 = reasons.values().sum();
    let reasons = most_frequent(reasons);
    let shown = reasons.iter().take(REASONS).map(|(reason, times)| format!("{times} {reason}"));
    let more = reasons.len().saturating_sub(REASONS);
    let more = (more > 0).then(|| counted(more, "other reason"));
    let text = format!(
        "{missing} of {} {} missing or not graded ({}): see questions.csv",
        counted(answers, "answer"),
        form_for(missing, "is", "are"),
        shown.chain(more).collect::<Vec<String>>().join("; ")
    );
    let questioned = missing as f64 > QUESTIONED * answers as f64;
    let weight = if questioned { run.where_asked(0.8) } else { 0.0 };
    let found = Finding::problem("ungraded", text).changing_figures(questioned).weighing(weight);
    (missing > 0).then_some(found)
}

/// Facts at cuts on whose statements the judge gave no usable reply.
fn unchecked(run: &Evidence<'_>) -> Option<Finding> {
    let (mut facts, mut cuts) = (0, 0);
    for session in run.results.iter() {
        let rows = session.cuts().iter().flat_map(|cut| &cut.rows);
        for count in rows.filter_map(|row| Some(row.exam()?.unchecked as usize)) {
            facts += count;
            cuts += usize::from(count > 0);
        }
    }
    let text = format!(
        "the judge gave no usable reply on what was written at {}: {} there {} by the rule of \
         words; --resume asks again",
        counted(cuts, "cut"),
        counted(facts, "fact"),
        form_for(facts, "counts as carried", "count as carried")
    );
    (cuts > 0).then(|| Finding::problem("ungraded", text).changing_figures(true))
}

/// Every answer to a question in a cell.
fn questions(cell: &Cell) -> &[QuestionRow] {
    cell.rows().map_or(&[], |rows| &rows.questions)
}

/// Number of idle compactions, and their share of all, from which they are a finding.
const IDLE: f64 = 2.0;
const OFTEN: f64 = 0.1;

/// Unusable replies of the compactor: first those that leave rows without a rank.
fn unusable_replies(run: &Evidence<'_>) -> Vec<Finding> {
    let bad = run.rows.iter().filter(|entry| entry.replies.unusable > 0);
    let (unranked, ranked): (Vec<&Entry>, Vec<&Entry>) =
        bad.partition(|entry| entry.row.row_kind == RowKind::Unusable);
    let found = |rows: Vec<&Entry>, says: &str| {
        let each: Vec<_> = rows.iter().map(|entry| (&entry.row, replies(entry))).collect();
        let text = format!("{says}: {}", joined(&each)?);
        Some(Finding::problem("unusable_replies", text))
    };
    let too_many = "too many replies of the compactor were unusable, so these rows are not ranked, \
                    whatever their fallback kept";
    let unranked = found(unranked, too_many).map(|found| found.changing_figures(true));
    let ranked = found(ranked, "some replies of the compactor were unusable");
    [unranked, ranked].into_iter().flatten().collect()
}

/// For example " 3 of 40 (2 empty, 1 refused), falling back 1 of 9 times".
fn replies(entry: &Entry) -> String {
    let found = &entry.replies;
    let reasons = found.reasons.iter();
    let reasons = reasons.map(|(reason, n)| format!("{} {}", grouped(*n), reason.words()));
    let reasons = reasons.collect::<Vec<String>>().join(", ");
    let Fallbacks { asked, fell_back } = found.fallbacks;
    let fell_back = match fell_back {
        0 => String::new(),
        times => format!(", falling back {} of {} times", grouped(times), grouped(asked)),
    };
    let (unusable, replies) = (grouped(found.unusable), grouped(found.replies));
    format!(" {unusable} of {replies} ({reasons}){fell_back}")
}

/// Strategies whose compactions often free almost nothing.
fn idle_compactions(run: &Evidence<'_>) -> Option<Finding> {
    let idle = |entry: &Entry| {
        let times = entry.row.number(catalogue::IDLE_COMPACTIONS).filter(|times| *times >= IDLE)?;
        let all = entry.row.number(catalogue::COMPACTIONS)?;
        (times >= OFTEN * all).then(|| format!(" {} of {}", number::any(times), number::any(all)))
    };
    let rows: Vec<_> =
        run.strategies().filter_map(|entry| Some((&entry.row, idle(entry)?))).collect();
    let text = format!(
        "compactions freed less than 5 % of the context: {}; each time the cache breaks for next to \
         nothing",
        joined(&rows)?
    );
    Some(Finding::problem("idle_compactions", text))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::findings::tests::check;
    use crate::measure;
    use crate::testkit::{cell, facts, manifest, rows_of, run};
    use recap_core::model::{Cell, FilterAnswers, Finding, Manifest, RunResults, SaverFacts};

    #[test]
    fn failed_cells() {
        let session = || vec![facts("s").requests(&[100]).build()];
        let good = |name: &str| cell("s", name).sent(&[100]).build();
        let broken = cell("s", "b").failed("it hangs");
        check(
            "failed_cells",
            [
                ("one of two", run(session(), vec![good("a"), broken]).findings),
                ("none", run(session(), vec![good("a")]).findings),
            ],
        );
    }

    #[test]
    fn filter_answers() {
        let filtered = |session: &str, strategy: &str, [used, refused, empty]: [u64; 3]| {
            let mut cell = cell(session, strategy).sent(&[100]).build();
            let first_refused = (refused > 0).then(|| format!("{strategy}: no JSON"));
            let answers = FilterAnswers { used, refused, empty, first_refused };
            rows_of(&mut cell).saver = Some(Arc::new(SaverFacts { answers, ..Default::default() }));
            cell
        };
        let found = |cells: Vec<Cell>| {
            let session = |id| facts(id).requests(&[100]).build();
            run(vec![session("s"), session("t")], cells).findings
        };
        let both = [filtered("s", "x", [5, 2, 1]), filtered("t", "x", [4, 1, 3])];
        check(
            "filter_answers",
            [
                ("3 of 12 refused and 4 empty, in two sessions", found(both.to_vec())),
                ("all used", found(vec![filtered("s", "x", [5, 0, 0])])),
            ],
        );
    }

    #[test]
    fn notice() {
        let warned = |warnings: &[&str]| -> Vec<Finding> {
            let warnings = warnings.iter().map(|text| (*text).to_owned()).collect();
            let manifest = Manifest { warnings, ..manifest(&["25%"]) };
            measure(manifest, "d".into(), Vec::new(), RunResults::default()).findings
        };
        check(
            "notice",
            [
                ("two lines", warned(&["2 lines were left out", "a call took long"])),
                ("nothing", warned(&[])),
            ],
        );
    }
}

#[cfg(test)]
mod roles_tests {
    use crate::findings::tests::{check, of_run};
    use crate::measure;
    use crate::testkit::{self, CellBuilder, cell, manifest, rows_of, vote};
    use recap_core::model::{
        Answer, Cell, Cut, CutExam, Finding, Manifest, NoGrade, Primary, RowKind, RunResults,
        SessionFacts, Source, Verdict,
    };

    fn asking(questions: usize) -> SessionFacts {
        testkit::asking("s", questions)
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
            rows_of(&mut cell).questions.clear();
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
                ("facts at cuts", of_cut("openai/c", cut(0))),
                ("facts at cuts, no compactor", of_cut("offline", cut(0))),
            ],
        );
    }

    /// A cut at which the compactor replied once and left so many facts unchecked.
    fn cut(unchecked: u32) -> Cut {
        let mut exam = CutExam::of_states(8_000, 3_000, Vec::new());
        (exam.replies, exam.unchecked) = (vec![testkit::reply(0, 0)], unchecked);
        testkit::cut("s", Vec::new(), vec![testkit::examined("sum", exam)])
    }

    fn of_cut(compactor: &str, cut: Cut) -> Vec<Finding> {
        let manifest = Manifest { compactor: compactor.into(), ..manifest(&["25%"]) };
        let results = RunResults::new([], [cut]);
        of_run(&manifest, Primary::FactsKept, &[], &[], &results)
    }

    #[test]
    fn judges_disagree() {
        let cast = |mut cell: Cell, votes: [&str; 2]| {
            for (row, votes) in rows_of(&mut cell).questions.iter_mut().zip(votes) {
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
        for (row, reason) in rows_of(&mut cell).questions.iter_mut().zip(reasons) {
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
        let recovered = rows_of(&mut refused).questions[1].recovered.as_mut().unwrap();
        recovered.answered.answer = Answer::Nothing("the model refused".to_owned());
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
                ("facts that no judge checked", of_cut("openai/c", cut(3))),
                ("all graded", of(2, vec![full("RR"), summed_up("sum", "RR")])),
            ],
        );
    }
}

#[cfg(test)]
mod compactor_tests {
    use crate::findings::tests::check;
    use crate::testkit::{CellBuilder, cell, facts, reply, run, run_at, unusable};
    use recap_core::model::{Finding, ReplyFacts, Unusable};

    fn found(cells: Vec<CellBuilder>) -> Vec<Finding> {
        let cells = cells.into_iter().map(CellBuilder::build).collect();
        run(vec![facts("s").requests(&[100]).build()], cells).findings
    }

    fn replied(name: &str, replies: &[ReplyFacts]) -> CellBuilder {
        cell("s", name).sent(&[100]).compaction(1_000, 100).replies(replies)
    }

    #[test]
    fn unusable_replies() {
        // Forty replies, of which eight are empty and four are equal.
        let empty = (0..8).map(|at| unusable(at, Unusable::Empty));
        let same = (8..12).map(|at| reply(at, 99));
        let bad: Vec<_> = empty.chain(same).chain((12..40).map(|at| reply(at, at))).collect();
        let one: Vec<_> =
            (1..40).map(|at| reply(at, at)).chain([unusable(0, Unusable::Refused)]).collect();
        let five_words = |input| ReplyFacts {
            written: 6,
            unusable: Some(Unusable::TooShort),
            ..reply(input, 5)
        };
        let short: Vec<_> = (0..4).map(five_words).collect();
        check(
            "unusable_replies",
            [
                ("12 of 40", found(vec![replied("continuation", &bad)])),
                (
                    "1 of 40, and of an offline summary 12 of 40",
                    found(vec![replied("a", &one), replied("b", &bad).offline_summary()]),
                ),
                ("the same five words each time", found(vec![replied("continuation", &short)])),
                ("none", found(vec![replied("a", &[reply(1, 1)])])),
            ],
        );
    }

    /// A strategy with that many successive compactions that free one per cent.
    fn idling(name: &str, trigger: &str, times: usize) -> CellBuilder {
        (0..times).fold(cell("s", name).sent(&[100]), |cell, _| {
            cell.compaction(100, 99).with_compaction(|row| row.trigger = trigger.into())
        })
    }

    #[test]
    fn idle_compactions() {
        let at = |name: &str, label: &str, times| {
            idling(name, "over 9 messages", times).window(label, 8_000).build()
        };
        let session = vec![facts("s").requests(&[100]).build()];
        let windows = vec![at("a", "8k", 3), at("a", "200k", 1), at("b", "200k", 2)];
        let final_ones = (0..3).fold(cell("s", "x").sent(&[100]), |cell, _| {
            cell.compaction(100, 99).with_compaction(|row| row.at_end = true)
        });
        let view = idling("fifo", "always", 1).compaction(100, 99);
        check(
            "idle_compactions",
            [
                ("by size", found(vec![idling("continuation", "above 0.8 of window", 14)])),
                ("at two windows", run_at(&["8k", "200k"], session, windows).findings),
                ("at each request", found(vec![idling("mask", "always", 2)])),
                ("once", found(vec![idling("x", "over 9 messages", 1)])),
                ("of a control", found(vec![idling("full", "always", 9).control()])),
                ("of a view", found(vec![view.with_compaction(|row| row.view = true)])),
                ("for final questions", found(vec![final_ones])),
            ],
        );
    }
}
