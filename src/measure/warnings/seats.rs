//! What scores may claim, by who sits in the seats (measures §6 and §7).

use std::collections::{BTreeMap, BTreeSet};

use super::{Run, listed};
use crate::model::{
    Answer, Cell, NoGrade, ProbeRow, Source, Standing, TRUSTED_FALSE_ACCEPTS, TRUSTED_KAPPA,
    Verdict,
};
use crate::text::{counted, form_for};

/// Reasons that are listed.
const REASONS: usize = 5;

/// A model that grades is an instrument whose error nobody knows yet.
pub(super) fn uncalibrated(run: &Run<'_>) -> Vec<String> {
    if run.manifest.graded_by() == Source::Lexical || !asks(run) {
        return Vec::new();
    }
    let judges = run.manifest.judges().map(|judge| format!(" --judge {judge}"));
    vec![format!(
        "the judge {} is not calibrated by this run, so how often it is wrong is not known: `recap \
         judge calibrate FILE{}` measures it on answers that people graded; it may be trusted from \
         kappa {TRUSTED_KAPPA} on and below {:.0} % of wrong answers accepted, by the upper bound",
        run.manifest.judge,
        judges.collect::<String>(),
        TRUSTED_FALSE_ACCEPTS * 100.0,
    )]
}

/// Judges that contradict each other cannot both be right.
pub(super) fn at_odds(run: &Run<'_>) -> Vec<String> {
    let Some((panel, kappa)) = run.panel.and_then(|panel| Some((panel, panel.kappa?))) else {
        return Vec::new();
    };
    if !panel.is_doubtful() {
        return Vec::new();
    }
    vec![format!(
        "the judges disagree: kappa {kappa:.2} between {} on {}, below {TRUSTED_KAPPA}; \
         scores hang on who grades",
        panel.judges[..2].join(" and "),
        counted(panel.both, "answer"),
    )]
}

/// How the judge without a model stands by the rule of `recap judge calibrate`;
/// `tests/suite/judge_real.rs` takes it again.
const UNTRUSTED: &str = "the offline judge is not trusted, for it accepts too many of the answers \
                         that people find wrong (`recap judge calibrate`)";

/// What scores without a model may claim.
pub(super) fn lexical(run: &Run<'_>) -> Vec<String> {
    if !asks(run) {
        return Vec::new();
    }
    let manifest = run.manifest;
    let limits = match (manifest.answered_by(), manifest.graded_by()) {
        (Source::Model, Source::Model) => return Vec::new(),
        (Source::Lexical, Source::Lexical) => format!(
            "probes are answered and graded by words and dates, without a model: scores rank \
             model-free mechanisms and are no estimate of what a model would answer; {UNTRUSTED}"
        ),
        (Source::Model, Source::Lexical) => format!(
            "what {} answers is graded by words and dates, without a model: what is right in other \
             words may count as wrong; {UNTRUSTED}; `recap judge RUN --judge MODEL` has the same \
             answers graded by a model",
            manifest.answerer
        ),
        (Source::Lexical, Source::Model) => format!(
            "probes are answered by words and dates, without a model, though {} grades the answers: \
             scores rank model-free mechanisms and are no estimate of what a model would answer",
            manifest.judge
        ),
    };
    vec![limits]
}

/// A model's summary says things in its own words, which a seat without a model
/// does not know again.
pub(super) fn paraphrased(run: &Run<'_>) -> Vec<String> {
    let manifest = run.manifest;
    let seats = [("reader", manifest.answered_by()), ("judge", manifest.graded_by())];
    let lexical: Vec<&str> =
        seats.iter().filter(|(_, by)| *by == Source::Lexical).map(|(seat, _)| *seat).collect();
    if manifest.compacted_by() == Source::Lexical || lexical.is_empty() || !asks(run) {
        return Vec::new();
    }
    let summed_up = |cell: &&Cell| {
        let rows = cell.rows().filter(|_| cell.standing != Standing::Control);
        rows.is_some_and(|rows| rows.compactions.iter().any(|c| c.model_calls > 0))
    };
    let names: BTreeSet<&str> =
        run.cells.iter().filter(summed_up).map(|cell| cell.key.strategy.as_str()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "{} writes summaries in its own words, and the offline {} compares words: what is said \
         otherwise counts as lost, so the scores of {} are too low rather than too high",
        manifest.compactor,
        lexical.join(" and "),
        listed(names)
    )]
}

/// An answer by where its question stands: data set, transcript, probe.
type Place<'a> = (&'a str, &'a str, u32);

/// Answers without a grade, with the reasons (measures §5). What nobody could
/// grade is told from what a model failed at here and there.
pub(super) fn ungraded(run: &Run<'_>) -> Vec<String> {
    let mut asked: BTreeMap<Place<'_>, usize> = BTreeMap::new();
    let mut reasons: BTreeMap<String, (&NoGrade, BTreeMap<Place<'_>, usize>)> = BTreeMap::new();
    for (cell, row) in run.cells.iter().flat_map(rows) {
        let place = (cell.key.dataset.as_str(), cell.key.transcript.as_str(), row.probe);
        *asked.entry(place).or_default() += 1;
        if let Verdict::Unscored(reason) = &row.judgement.verdict {
            let (_, places) =
                reasons.entry(reason.to_string()).or_insert_with(|| (reason, BTreeMap::new()));
            *places.entry(place).or_default() += 1;
        }
    }
    let (answers, all) = (asked.values().sum::<usize>(), asked.len());
    let mut each: Vec<(usize, String)> = Vec::new();
    let mut uneven = false;
    for (reason, places) in reasons.into_values() {
        let missing: usize = places.values().sum();
        let throughout = places.iter().all(|(place, n)| asked[place] == *n);
        uneven |= !throughout;
        let probes = format!("{} of {}", places.len(), counted(all, "probe"));
        let are = form_for(places.len(), "is", "are");
        let text = match (reason, throughout) {
            (NoGrade::NotAnswered(why), true) => format!("{probes} {are} not answered: {why}"),
            (NoGrade::NotAnswered(why), false) => {
                let times = counted(answers, "time");
                format!("no answer came {missing} of {times}, to {probes}: {why}")
            }
            (_, true) => format!("{probes} {are} not graded: {}", told(reason)),
            (_, false) => format!(
                "{missing} of {}, to {probes}, {} not graded: {}",
                counted(answers, "answer"),
                form_for(missing, "is", "are"),
                told(reason)
            ),
        };
        each.push((missing, text));
    }
    // Stable: equal numbers stay in the order of their reasons.
    each.sort_by_key(|(missing, _)| std::cmp::Reverse(*missing));
    let others = each.split_off(each.len().min(REASONS));
    let mut warnings: Vec<String> = each.into_iter().map(|(_, text)| text).collect();
    if !others.is_empty() {
        let missing: usize = others.iter().map(|(missing, _)| missing).sum();
        warnings.push(format!(
            "{missing} of {} {} missing or not graded for {}: see probes.csv",
            counted(answers, "answer"),
            form_for(missing, "is", "are"),
            counted(others.len(), "other reason")
        ));
    }
    if uneven {
        warnings.push(
            "what is not answered or not graded counts neither as right nor as wrong: scores of \
             different strategies rest on somewhat different questions"
                .to_owned(),
        );
    }
    warnings
}

/// Searches, and answers with a recovery channel, that a model failed at: what
/// nobody could grade is told already.
pub(super) fn unrecovered(run: &Run<'_>) -> Vec<String> {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut answers = 0;
    let recovered = run.cells.iter().flat_map(rows).filter_map(|(_, row)| row.recovered.as_ref());
    for recovered in recovered {
        answers += 1;
        if let Answer::Nothing(why) = &recovered.answer {
            *reasons.entry(why.to_string()).or_default() += 1;
        }
    }
    let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, missing)| std::cmp::Reverse(*missing));
    let told = reasons.iter().take(REASONS).map(|(why, missing)| {
        let times = counted(answers, "time");
        format!("no answer came {missing} of {times} with a recovery channel: {why}")
    });
    told.collect()
}

/// A judge's reason, behind words that say the same.
fn told(reason: &NoGrade) -> String {
    match reason {
        NoGrade::Judge(reply) => reply.to_string(),
        NoGrade::NotAnswered(_)
        | NoGrade::Kind(_)
        | NoGrade::Rubric
        | NoGrade::NoJudge(_)
        | NoGrade::Disagreement(_)
        | NoGrade::Other(_) => reason.to_string(),
    }
}

fn rows(cell: &Cell) -> impl Iterator<Item = (&Cell, &ProbeRow)> {
    let rows = cell.rows().map_or(&[][..], |rows| &rows.probes);
    rows.iter().map(move |row| (cell, row))
}

fn asks(run: &Run<'_>) -> bool {
    run.facts.iter().any(|facts| !facts.probes.is_empty())
}

#[cfg(test)]
mod tests {
    use crate::measure::measure;
    use crate::measure::testkit::{cell, facts, manifest, vote};
    use crate::model::{
        Answer, Cell, CellOutcome, Manifest, NoGrade, NoReply, ProbeKind, Report, Source,
        TranscriptFacts, Verdict,
    };

    /// Two facts, asked at request 1.
    fn two() -> TranscriptFacts {
        let builder = facts("s").requests(&[1_000, 2_000]).probe(ProbeKind::Fact, 1, 3_000);
        builder.probe(ProbeKind::Fact, 1, 3_000).build()
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

    fn rows(cell: &mut Cell) -> &mut crate::model::CellRows {
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
        measure(manifest, "d".into(), vec![two()], cells, Vec::new())
    }

    /// What is warned of on a run with these seats.
    fn warned(compactor: &str, answerer: &str, judge: &str) -> Vec<String> {
        run(seated(compactor, answerer, judge), vec![full("RR"), folded("RR")]).warnings
    }

    fn says(warnings: &[String], words: &str) -> bool {
        warnings.iter().any(|warning| warning.contains(words))
    }

    #[test]
    fn what_no_answer_was_recovered_to_is_told_with_its_reason() {
        let cell = cell("s", "x").sent(&[1_000, 500]).snapshot(1, 0).answers("rr");
        let mut searching = cell.recovers("ru", &[(1, 10), (0, 0)]).build();
        let warned = |searching: &Cell| {
            let cells = vec![full("RR"), searching.clone()];
            run(seated("offline", "offline", "offline"), cells).warnings
        };
        let channel = "with a recovery channel: ";
        assert!(!says(&warned(&searching), channel), "nobody could grade it");
        let recovered = rows(&mut searching).probes[1].recovered.as_mut().unwrap();
        recovered.answer = Answer::Nothing(NoReply::Refused.into());
        let told = "no answer came 1 of 2 times with a recovery channel: the model refused";
        assert!(says(&warned(&searching), told), "{:?}", warned(&searching));
    }

    #[test]
    fn a_model_that_grades_is_warned_of_at_the_top_with_the_command_that_measures_it() {
        let warnings = warned("offline", "offline", "openai/j + offline");
        assert!(warnings[0].starts_with("the judge openai/j + offline is not calibrated"));
        let command = "`recap judge calibrate FILE --judge openai/j --judge offline`";
        assert!(warnings[0].contains(command), "{}", warnings[0]);
        assert!(warnings[0].contains("kappa 0.7 on and below 5 %"), "{}", warnings[0]);
        let offline = warned("openai/c", "openai/a", "offline");
        assert!(!says(&offline, "not calibrated"), "{offline:?}");
        let mut unasked = two();
        unasked.probes.clear();
        let idle = cell("s", "x").sent(&[1_000, 500]).build();
        let manifest = seated("offline", "offline", "openai/j");
        let report = measure(manifest, "d".into(), vec![unasked], vec![idle], Vec::new());
        assert!(!says(&report.warnings, "calibrated"), "{:?}", report.warnings);
    }

    #[test]
    fn what_scores_claim_depends_on_who_answers_and_who_grades() {
        let both = "answered and graded by words and dates";
        let answered = "what openai/a answers is graded by words and dates";
        let graded = "probes are answered by words and dates, without a model, though openai/j";
        for (answerer, judge, said) in [
            ("offline", "offline", Some(both)),
            ("openai/a", "offline", Some(answered)),
            ("offline", "openai/j", Some(graded)),
            ("openai/a", "openai/j", None),
        ] {
            let warnings = warned("offline", answerer, judge);
            for words in [both, answered, graded] {
                assert_eq!(says(&warnings, words), said == Some(words), "{words}: {warnings:?}");
            }
        }
    }

    #[test]
    fn summaries_of_a_model_are_flagged_under_seats_that_compare_words() {
        let flagged = |answerer, judge| warned("openai/c", answerer, judge);
        let words = "offline reader and judge compares words";
        assert!(says(&flagged("offline", "offline"), words));
        assert!(says(&flagged("offline", "offline"), "the scores of continuation are too low"));
        assert!(says(&flagged("openai/a", "offline"), "the offline judge compares words"));
        assert!(says(&flagged("offline", "openai/j"), "the offline reader compares words"));
        for seats in [("openai/c", "openai/a", "openai/j"), ("offline", "offline", "offline")] {
            assert!(!says(&warned(seats.0, seats.1, seats.2), "compares words"), "{seats:?}");
        }
        let unfolded =
            vec![full("RR"), cell("s", "x").sent(&[1, 1]).snapshot(1, 1).answers("RR").build()];
        let report = run(seated("openai/c", "offline", "offline"), unfolded);
        assert!(!says(&report.warnings, "compares words"), "no model wrote anything");
    }

    #[test]
    fn judges_at_odds_are_warned_of() {
        // Of two answers under each strategy one is agreed on: chance agrees in
        // a half and so do they, kappa is 0.
        let cast = |mut cell: Cell, votes: [&str; 2]| {
            let rows = rows(&mut cell);
            rows.probes
                .iter_mut()
                .zip(votes)
                .for_each(|(row, cast)| vote(&mut row.judgement, cast));
            cell
        };
        let of = |first, second| {
            let cells = vec![cast(full("RR"), first), cast(folded("RR"), second)];
            run(seated("offline", "openai/x", "a + b + c"), cells)
        };
        let report = of(["rr", "rwr"], ["ww", "wrw"]);
        assert_eq!(report.panel.as_ref().unwrap().kappa, Some(0.0));
        let words = "kappa 0.00 between a and b on 4 answers, below 0.7";
        assert!(says(&report.warnings, words), "{:?}", report.warnings);
        let report = of(["rr", "rr"], ["ww", "rr"]);
        assert!(!says(&report.warnings, "judges disagree"), "{:?}", report.warnings);
    }

    #[test]
    fn what_nobody_can_grade_is_told_from_what_a_model_failed_at() {
        let report = run(seated("offline", "openai/a", "openai/j"), vec![full("uR"), folded("uR")]);
        assert!(says(&report.warnings, "1 of 2 probes is not graded: no judge"));
        assert!(!says(&report.warnings, "different questions"), "all rest on the same");
        let report = run(seated("offline", "openai/a", "openai/j"), vec![full("RR"), folded("uR")]);
        let words = "1 of 4 answers, to 1 of 2 probes, is not graded: no judge";
        assert!(says(&report.warnings, words), "{:?}", report.warnings);
        assert!(says(&report.warnings, "rest on somewhat different questions"));
    }

    #[test]
    fn where_no_answer_came_nobody_is_blamed_for_not_grading_it() {
        let unanswered = |outcomes, reason: &str| {
            let mut cell = folded(outcomes);
            let verdict = &mut rows(&mut cell).probes[0].judgement.verdict;
            *verdict = Verdict::Unscored(NoGrade::from(reason.to_owned()));
            run(seated("offline", "openai/a", "openai/j"), vec![full("RR"), cell]).warnings
        };
        let refused = unanswered("uR", "not answered: the model refused");
        assert!(says(&refused, "no answer came 1 of 4 times, to 1 of 2 probes: the model refused"));
        let failed = unanswered("uR", "not graded: the model refused");
        let words = "1 of 4 answers, to 1 of 2 probes, is not graded: the model refused";
        assert!(says(&failed, words), "{failed:?}");
    }

    #[test]
    fn of_many_reasons_the_most_frequent_are_told() {
        let mut builder = facts("s").requests(&[1_000, 2_000]);
        for _ in 0..8 {
            builder = builder.probe(ProbeKind::Fact, 1, 3_000);
        }
        let mut cell = folded("uuuuuuuu");
        for (at, row) in rows(&mut cell).probes.iter_mut().enumerate() {
            let reason = if at < 2 { "zeal".to_owned() } else { format!("reason {at}") };
            row.judgement.verdict = Verdict::Unscored(NoGrade::Other(reason));
        }
        let manifest = seated("offline", "openai/a", "openai/j");
        let report = measure(manifest, "d".into(), vec![builder.build()], vec![cell], Vec::new());
        let told: Vec<&String> =
            report.warnings.iter().filter(|w| w.contains("not graded")).collect::<Vec<_>>();
        assert_eq!(told.len(), 6, "{told:?}");
        assert_eq!(told[0], "2 of 8 probes are not graded: zeal");
        assert_eq!(
            *told[5],
            "2 of 8 answers are missing or not graded for 2 other reasons: see probes.csv"
        );
    }
}
