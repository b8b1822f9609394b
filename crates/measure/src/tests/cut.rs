//! The measures of cuts, compared with values computed by hand.

use crate::figures::exams::{AtCut, Exams};
use crate::figures::spec::{CellInput, Contribution};
use crate::measure;
use crate::measures::spec_of;
use crate::testkit::{
    self, absent, answered, cell, close, examined, fact, facts, input, manifest, reply,
};
use recap_core::model::{
    Absent, Answered, Cell, Cut, CutExam, CutOutcome, CutRow, Fact, Primary, QuestionKind,
    RECORDED, ReferenceState, Report, RowKind, RunResults, SessionFacts, Snapshot, StrategyRow,
};

/// A session of 60 requests; message k has 10 · (k + 1) tokens.
fn session(id: &str) -> SessionFacts {
    facts(id).requests(&[1_000; 60]).build()
}

fn cut(session: &str, facts: Vec<Fact>) -> Cut {
    testkit::cut(session, facts, Vec::new())
}

trait With {
    fn with(self, strategy: &str, states: &str, tokens_after: u64) -> Self;
    fn asked(self, first: u32, outcomes: &str) -> Self;
    fn at(self, request: u32) -> Self;
}

impl With for Cut {
    /// Adds a strategy's exam: v verbatim, c carried, p partial, b bare, r
    /// recovered, l lost.
    fn with(mut self, strategy: &str, states: &str, tokens_after: u64) -> Self {
        let state = |c| match c {
            'v' => ReferenceState::Verbatim,
            'c' => ReferenceState::Carried,
            'p' => ReferenceState::Partial,
            'b' => ReferenceState::Bare,
            'r' => ReferenceState::Recovered,
            _ => ReferenceState::Lost,
        };
        let states = states.chars().map(state).collect();
        let exam = CutExam::of_states(8_000, tokens_after, states);
        self.rows.push(examined(strategy, exam));
        self
    }

    /// Asks the last strategy questions of consecutive numbers: the outcomes are
    /// letters that `CellBuilder::answers` explains.
    fn asked(mut self, first: u32, outcomes: &str) -> Self {
        if let Some(CutRow { outcome: CutOutcome::Done(exam), .. }) = self.rows.last_mut() {
            exam.questions = (first..).zip(outcomes.chars()).map(|(n, c)| answered(n, c)).collect();
        }
        self
    }

    fn at(mut self, request: u32) -> Self {
        for fact in &mut self.facts {
            fact.request = fact.request - self.request + request;
        }
        self.request = request;
        self
    }
}

fn strategy(id: &str, name: &str) -> Cell {
    let cell = cell(id, name).sent(&[500; 60]).compaction(900, 500);
    cell.bill(RECORDED, "dear", &[(500, 0, 0); 60]).build()
}

fn run(sessions: &[&str], strategies: &[&str], cuts: Vec<Cut>) -> Report {
    run_of(sessions.iter().map(|id| session(id)).collect(), strategies, cuts)
}

fn run_of(sessions: Vec<SessionFacts>, strategies: &[&str], cuts: Vec<Cut>) -> Report {
    let mut made = manifest(&["25%"]);
    (made.cuts, made.depth) = ("5".into(), 1);
    let cells = sessions.iter().flat_map(|session| {
        strategies.iter().map(|name| strategy(&session.session, name)).collect::<Vec<_>>()
    });
    let results = RunResults::new(cells, cuts);
    measure(made, "d".into(), sessions, results)
}

fn row<'a>(report: &'a Report, name: &str) -> &'a StrategyRow {
    report.rows.iter().find(|row| row.dataset == "ALL" && row.strategy == name).unwrap()
}

#[test]
fn every_share_counts_its_states() {
    let facts: Vec<Fact> = [(1, 500), (2, 900), (6, 1_500), (7, 5_000), (21, 6_000), (40, 7_000)]
        .map(|(later, tokens)| fact(later, tokens))
        .to_vec();
    let cuts =
        vec![cut("s", facts).with("a", "vcbplr", 3_000).with("no-summary:a", "vlllll", 2_500)];
    let report = run(&["s"], &["a", "no-summary:a"], cuts);
    let a = row(&report, "a");
    close(a, "cuts", 1.0);
    close(a, "facts_needed", 6.0);
    close(a, "sessions_with_facts", 1.0);
    close(a, "facts_kept", 2.0 / 6.0);
    close(a, "exposed_share", 5.0 / 6.0);
    close(a, "carried_share", 1.0 / 5.0);
    // One of six facts more than without the text.
    close(a, "added_at_cut", 1.0 / 6.0);
    // 3,000 minus the preamble are 1,000 tokens: the newest messages of that
    // size contain two facts.
    close(a, "gain_at_cut", 0.0);
    close(a, "tokens_at_cut", 0.3);
    assert_eq!(report.primary, Primary::FactsKept);
    assert_eq!(a.rank, Some(1));
}

#[test]
fn small_sessions_weigh_their_number_of_facts() {
    // 40, 10 and 2 + 1 facts, of which 20, 9 and 3 are kept. The last two
    // sessions pool to one cluster of 3 facts: 32 of 53.
    let many = |n: usize| (0..n).map(|k| fact(1, 100 + k as u64)).collect::<Vec<_>>();
    let states = |kept: usize, n: usize| "v".repeat(kept) + &"l".repeat(n - kept);
    let cuts = vec![
        cut("s", many(20)).with("a", &states(15, 20), 3_000),
        cut("s", many(20)).at(15).with("a", &states(5, 20), 3_000),
        cut("t", many(10)).with("a", &states(9, 10), 3_000),
        cut("u", many(2)).with("a", "vv", 3_000),
        cut("w", many(1)).with("a", "v", 3_000),
        cut("x", Vec::new()).with("a", "", 3_000),
    ];
    let report = run(&["s", "t", "u", "w", "x"], &["a"], cuts);
    let a = row(&report, "a");
    close(a, "facts_kept", 32.0 / 53.0);
    close(a, "n_clusters", 3.0);
    close(a, "sessions_with_facts", 4.0);
    close(a, "cuts", 6.0);
}

/// A session whose made questions are of these kinds.
fn questioned(id: &str, kinds: &[QuestionKind]) -> SessionFacts {
    let mut made = kinds.iter().fold(facts(id), |made, &kind| made.question(kind, 10, 0)).build();
    for (number, asked) in made.questions.iter_mut().enumerate() {
        asked.question.question = format!("What is {number}?");
    }
    SessionFacts { cut_questions: made.questions, questions: Vec::new(), ..session(id) }
}

#[test]
fn continuity_at_cuts_counts_questions_right_just_before() {
    use QuestionKind::{Abstain, Fact};
    let sessions = vec![
        questioned("s", &[Fact, Fact, Fact, Fact, Fact, Abstain, Fact]),
        questioned("t", &[Fact, Fact]),
        questioned("u", &[Fact, Fact, Fact, Fact]),
    ];
    // At the first cut of s two of three are kept: the second is lost, the
    // fourth was wrong before, the fifth has no score, and the sixth asks for
    // what is not there. With the next cut 3 of 4 are kept; of t nothing was
    // right before; of u 1 of 4 is kept.
    let cuts = vec![
        cut("s", Vec::new()).with("full", "", 10_000).asked(0, "rrrwrr"),
        cut("s", Vec::new()).at(15).with("full", "", 10_000).asked(6, "r"),
        cut("t", Vec::new()).with("full", "", 10_000).asked(0, "wd"),
        cut("u", Vec::new()).with("full", "", 10_000).asked(0, "rrrr"),
    ];
    let own = ["rwrrur", "r", "rr", "rwdw"];
    let cuts: Vec<Cut> = (cuts.into_iter().zip(own))
        .map(|(cut, own)| {
            let first = if cut.request == 15 { 6 } else { 0 };
            cut.with("a", "", 3_000).asked(first, own)
        })
        .collect();
    let report = run_of(sessions, &["full", "a"], cuts);
    let a = row(&report, "a");
    close(a, "questions_at_cut", 8.0);
    close(a, "continuity_at_cut", 100.0 * 4.0 / 8.0);
    close(row(&report, "full"), "continuity_at_cut", 100.0);
    // The question without a score under the strategy has one uncompressed.
    close(row(&report, "full"), "questions_at_cut", 9.0);
    // The same by kind; to say that the session does not say it is a kind too.
    let names: Vec<&str> = report.answered_at_cuts.iter().map(|of| &*of.strategy).collect();
    assert_eq!(names, ["a", "full"]);
    let kinds =
        [(Fact, Answered { before: 8, after: 4.0 }), (Abstain, Answered { before: 1, after: 1.0 })];
    assert_eq!(report.answered_at_cuts[0].kinds, kinds.into());
}

#[test]
fn question_in_same_words_at_several_cuts_is_one() {
    use QuestionKind::{Fact, Plan};
    // The first, third and fourth ask the same: at three cuts, kept at one. The
    // second is kept. With the same words another kind is another question.
    let mut session = questioned("s", &[Fact, Fact, Fact, Fact, Plan]);
    let first = session.cut_questions[0].question.question.clone();
    for number in [2, 3, 4] {
        session.cut_questions[number].question.question = first.clone();
    }
    let cuts = vec![
        cut("s", Vec::new()).with("full", "", 9).asked(0, "rr").with("a", "", 3).asked(0, "rr"),
        (cut("s", Vec::new()).at(15).with("full", "", 9).asked(2, "r").with("a", "", 3))
            .asked(2, "w"),
        (cut("s", Vec::new()).at(20).with("full", "", 9).asked(3, "rr").with("a", "", 3))
            .asked(3, "wr"),
    ];
    let report = run_of(vec![session], &["full", "a"], cuts);
    let a = row(&report, "a");
    // 1/3 + 1 + 1 of 3.
    close(a, "questions_at_cut", 3.0);
    close(a, "continuity_at_cut", 100.0 * (7.0 / 3.0) / 3.0);
    let of = |kind| report.answered_at_cuts[0].kinds[&kind];
    assert_eq!(of(Plan), Answered { before: 1, after: 1.0 });
    assert_eq!((of(Fact).before, (of(Fact).after * 3.0).round()), (2, 4.0));
}

#[test]
fn no_question_right_before_cut_gives_no_continuity() {
    let sessions = vec![questioned("t", &[QuestionKind::Fact])];
    let cuts = vec![
        (cut("t", Vec::new()).with("full", "", 10_000).asked(0, "w"))
            .with("a", "", 3_000)
            .asked(0, "r"),
    ];
    let report = run_of(sessions, &["full", "a"], cuts);
    absent(row(&report, "a"), "continuity_at_cut", "can be answered uncompressed");
}

#[test]
fn no_strategy_is_ranked_without_facts() {
    let five = || (1..=5).map(|later| fact(later, 100)).collect();
    let both = |facts, a, b| vec![cut("s", facts).with("a", a, 9_000).with("b", b, 3_000)];
    let report = run(&["s"], &["a", "b"], both(five(), "vvvvv", "ccccc"));
    let (a, b) = (row(&report, "a"), row(&report, "b"));
    assert_eq!((a.rank, b.rank), (None, Some(1)));
    assert!(a.risked_nothing(recap_core::model::Primary::FactsKept));
    // One fact is too few for a rank.
    let report = run(&["s"], &["a", "b"], both(vec![fact(1, 100)], "l", "c"));
    assert!(report.rows.iter().all(|row| row.rank.is_none()));
}

#[test]
fn strategy_failing_at_cut_is_unranked_with_reason() {
    let mut cuts = vec![cut("s", vec![fact(1, 100)]).with("a", "l", 3_000)];
    cuts[0].rows[0].outcome = CutOutcome::Failed { error: "the compactor is away".into() };
    let report = run(&["s"], &["a"], cuts);
    let a = row(&report, "a");
    assert_eq!(a.rank, None);
    assert!(a.failed[0].contains("cut at request 10") && a.failed[0].contains("is away"));
}

#[test]
fn a_run_without_cuts_is_ranked_by_references() {
    let report = run(&["s"], &["a"], Vec::new());
    assert_eq!(report.primary, Primary::ReferenceRecall);
}

/// What `of` reads of strategy `a` on session `s` from these cuts.
fn read<T>(cuts: &[Cut], of: impl Fn(&CellInput<'_>) -> T) -> T {
    let (facts, cell) = (session("s"), strategy("s", "a"));
    let exams = Exams::of(&cell, cuts, 1);
    of(&CellInput { exams: &exams, ..input(&facts, &cell) })
}

fn parts(id: &str, cuts: &[Cut]) -> Contribution {
    read(cuts, |input| spec_of(id).unwrap().of(input))
}

fn four() -> Vec<Fact> {
    (1..=4).map(|later| fact(later, 100)).collect()
}

#[test]
fn added_share_needs_the_same_exam_without_summary() {
    let with = |facts: Vec<Fact>, states: &str| {
        cut("s", facts).with("a", states, 3_000).with(
            "no-summary:a",
            &states.replace('c', "l"),
            2_500,
        )
    };
    let added = |cuts: &[Cut]| parts("added_at_cut", cuts);
    assert_eq!(added(&[with(four(), "vccl")]), Contribution::Fraction { of: 2.0, to: 4.0 });
    assert_eq!(
        added(&[cut("s", four()).with("a", "vccl", 3_000)]),
        Contribution::Absent(Absent::NoSummary)
    );
    let other = cut("s", four()).at(15).with("a", "vccl", 3_000);
    let failed = [with(four(), "vccl"), other];
    assert_eq!(added(&failed), Contribution::Absent(Absent::WithoutSummaryFailed));
    assert_eq!(added(&[with(Vec::new(), "")]), Contribution::Absent(Absent::NoFacts));
    assert_eq!(added(&[]), Contribution::Absent(Absent::NotCut));
    assert_eq!(parts("facts_kept", &[with(Vec::new(), "")]), Contribution::Absent(Absent::NoFacts));
    let verbatim = [cut("s", four()).with("a", "vvvv", 9_000)];
    assert_eq!(parts("carried_share", &verbatim), Contribution::Absent(Absent::NothingExposed));
}

#[test]
fn only_controls_answer_refused_context_from_second_compaction() {
    let continuity = |name: &str, depth: u32, overflow: bool, row_kind: RowKind| {
        let mut cut = cut("t", Vec::new()).with("full", "", 10_000).asked(0, "rr");
        cut = cut.with(name, "", 3_000).asked(0, "rr");
        cut.rows[1].row_kind = row_kind;
        if let CutOutcome::Done(exam) = &mut cut.rows[1].outcome {
            let (tokens, compactions, parts) = (100, 1, Vec::new());
            exam.snapshot = Some(Snapshot { request: 10, tokens, overflow, compactions, parts });
        }
        let mut made = manifest(&["25%"]);
        (made.cuts, made.depth) = ("5".into(), depth);
        let mut own = strategy("t", name);
        own.row_kind = row_kind;
        let cells = [strategy("t", "full"), own];
        let session = questioned("t", &[QuestionKind::Fact; 2]);
        let report = measure(made, "d".into(), vec![session], RunResults::new(cells, [cut]));
        let share = row(&report, name).number_of("continuity_at_cut");
        // What the sentence and summary.json count is what the table shows.
        for counted in report.answered_at_cuts.iter().filter(|of| of.strategy == name) {
            let of = counted.kinds[&QuestionKind::Fact];
            assert_eq!(Some(100.0 * of.after / of.before as f64), share);
        }
        share
    };
    assert_eq!(continuity("a", 3, true, RowKind::Ranked), Some(0.0));
    assert_eq!(continuity("a", 2, true, RowKind::Ranked), Some(0.0));
    assert_eq!(continuity("a", 3, false, RowKind::Ranked), Some(100.0));
    assert_eq!(continuity("a", 3, true, RowKind::Control), Some(100.0));
    assert_eq!(
        continuity("no-summary:a", 3, true, RowKind::Control),
        Some(0.0),
        "as its facts are"
    );
    let first = continuity("a", 1, true, RowKind::Ranked);
    assert_eq!(first, Some(100.0), "its window is made for it");
}

#[test]
fn equal_size_recency_reaches_room_after_the_preamble() {
    let recency = |tokens_after| {
        let facts = [0, 999, 1_000, 1_001].map(|tokens| fact(1, tokens)).to_vec();
        let cut = cut("s", facts).with("a", "vclp", tokens_after);
        let exam = cut.rows[0].exam().unwrap();
        (cut.recency(exam), exam.count(ReferenceState::is_kept))
    };
    assert_eq!(recency(3_000), (3, 2));
    assert_eq!(recency(1_500), (1, 2), "less than the preamble");
}

#[test]
fn strategy_has_fitting_exams_of_its_own_replicate() {
    let mut cut = cut("s", four());
    for (strategy, replicate, states) in [
        ("a", 0, "vvvl"),
        ("a", 1, "vvll"),
        ("no-summary:a", 0, "llll"),
        ("full", 0, "vvvv"),
        ("a", 0, "v"),
    ] {
        cut = cut.with(strategy, states, 3_000);
        let row = cut.rows.last_mut().unwrap();
        row.replicate = replicate;
        if let CutOutcome::Done(exam) = &mut row.outcome {
            exam.replies = vec![reply(900, 1); states.matches('v').count()];
        }
    }
    let mut failed = cut.rows[0].clone();
    failed.outcome = CutOutcome::Failed { error: "the compactor is away".into() };
    cut.rows.push(failed);
    let cuts = [cut];
    let (own, mut again) = (strategy("s", "a"), strategy("s", "a"));
    again.key.replicate = 1;
    let [own, again] = [own, again].map(|cell| Exams::of(&cell, &cuts, 1));
    let kept = |exams: &[AtCut<'_>]| {
        exams.iter().map(|at| at.exam.count(ReferenceState::is_kept)).collect::<Vec<usize>>()
    };
    assert_eq!(kept(&own.own), [3]);
    assert_eq!(kept(&again.own), [2]);
    assert_eq!(kept(&again.without_summary), [0]);
    assert_eq!(kept(&again.full), [4]);
    // Those of the row that does not fit were paid for too.
    let replies = |exams: &Exams<'_>| exams.made().flat_map(|exam| &exam.replies).count();
    assert_eq!((replies(&own), replies(&again)), (4, 2));
    assert_eq!(
        own.failures().collect::<Vec<_>>(),
        [
            "s, cut at request 10: its row is from another version of the data: run it again",
            "s, cut at request 10: the compactor is away",
        ]
    );
    assert_eq!(again.failures().count(), 0);
}

#[test]
fn added_at_cut_can_reach_minus_one() {
    let ids = ["s", "t", "u", "v", "w", "x"];
    let cuts = ids.map(|id| {
        let facts = (1..=5).map(|later| fact(later, 100)).collect();
        cut(id, facts).with("a", "lllll", 3_000).with("no-summary:a", "vvvvv", 2_500)
    });
    let report = run(&ids, &["a", "no-summary:a"], cuts.to_vec());
    let a = row(&report, "a");
    close(a, "added_at_cut", -1.0);
    assert_eq!(a.intervals["added_at_cut"].bounds(), Some((-1.0, -1.0)));
}

/// Of ten facts at a place of its own the strategy keeps all, of ten where the agent compacted
/// two: only these stand beside what the agent kept.
#[test]
fn strategy_of_the_agent_is_counted_where_the_agent_compacted() {
    let many = || (0..10).map(|k| fact(1, 100 + k)).collect::<Vec<_>>();
    let all = cut("s", many()).with("claude-code", "vvvvvvvvvv", 3_000);
    let mut recorded = cut("s", many()).at(15).with("claude-code", "vvllllllll", 3_000);
    recorded.recorded = true;
    let report = |cuts: Vec<Cut>, agent: &str| {
        let mut made = manifest(&["25%"]);
        (made.cuts, made.depth, made.agent) = ("5".into(), 1, Some(agent.to_owned()));
        let cells = ["claude-code", "prune"].map(|name| strategy("s", name));
        measure(made, "d".into(), vec![session("s")], RunResults::new(cells, cuts))
    };
    let both = report(vec![all.clone(), recorded.clone()], "claude-code");
    close(row(&both, "claude-code"), "facts_kept", 0.6);
    let twin = both.twin.unwrap();
    close(&twin, "facts_kept", 0.2);
    close(&twin, "cuts", 1.0);
    // Without a recorded compaction, or for an agent without a strategy, there is none.
    assert_eq!(report(vec![all], "claude-code").twin, None);
    assert_eq!(report(vec![recorded], "opencode").twin, None);
}
