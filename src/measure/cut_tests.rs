//! The measures of cuts, compared with values computed by hand.

use super::measure;
use super::testkit::{absent, answer, answered, cell, facts, manifest};
use crate::model::{
    Cell, Cut, CutBill, CutExam, CutOutcome, CutRow, FactAtStake, IdentifierClass, PresetRow,
    Primary, ProbeKind, RECORDED, ReferenceState, Report, Sessions, Standing, TranscriptFacts,
};

/// A session of 60 requests; message k has 100 + k tokens.
fn session(id: &str) -> TranscriptFacts {
    facts(id).requests(&[1_000; 60]).build()
}

/// A fact that is used `behind` requests after the cut, and was last mentioned
/// `newest_tokens` tokens before the cut.
fn fact(behind: u32, newest_tokens: u64) -> FactAtStake {
    FactAtStake {
        request: 10 + behind - 1,
        text: format!("src/{behind}-{newest_tokens}.rs"),
        class: IdentifierClass::Path,
        last_seen: 0,
        newest_tokens,
        refetch: None,
        reread: false,
    }
}

/// A cut before request 10, with 10,000 tokens before it, of which 2,000 are
/// the preamble, and 40 requests after it.
fn cut(transcript: &str, facts: Vec<FactAtStake>) -> Cut {
    Cut {
        dataset: "d".into(),
        transcript: transcript.into(),
        request: 10,
        recorded: false,
        requests: 40,
        left: Some(40),
        messages: 20,
        tokens_before: 10_000,
        preamble_tokens: 2_000,
        facts,
        rows: Vec::new(),
    }
}

trait With {
    fn with(self, strategy: &str, states: &str, tokens_after: u64) -> Self;
    fn asked(self, first: u32, outcomes: &str) -> Self;
    fn bill(self, bill: CutBill) -> Self;
    fn at(self, request: u32) -> Self;
}

impl With for Cut {
    /// Adds a preset's exam: v verbatim, c carried, p partial, b bare, r
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
        self.rows.push(CutRow {
            strategy: strategy.into(),
            replicate: 0,
            depth: 1,
            standing: Standing::Ranked,
            outcome: CutOutcome::Done(Box::new(exam)),
        });
        self
    }

    /// Asks the last preset questions of consecutive numbers: the outcomes are
    /// letters that `CellBuilder::answers` explains.
    fn asked(mut self, first: u32, outcomes: &str) -> Self {
        if let Some(CutRow { outcome: CutOutcome::Done(exam), .. }) = self.rows.last_mut() {
            exam.probes = (first..).zip(outcomes.chars()).map(|(n, c)| answered(n, c)).collect();
        }
        self
    }

    fn bill(mut self, bill: CutBill) -> Self {
        if let Some(CutRow { outcome: CutOutcome::Done(exam), .. }) = self.rows.last_mut() {
            exam.bills.push(bill);
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

fn preset(id: &str, name: &str) -> Cell {
    let cell = cell(id, name).sent(&[500; 60]).compaction(900, 500);
    cell.bill(RECORDED, "dear", &[(500, 0, 0); 60]).build()
}

fn run(sessions: &[&str], presets: &[&str], cuts: Vec<Cut>) -> Report {
    run_of(sessions.iter().map(|id| session(id)).collect(), presets, cuts)
}

fn run_of(sessions: Vec<TranscriptFacts>, presets: &[&str], cuts: Vec<Cut>) -> Report {
    let mut made = manifest(&["25%"]);
    (made.cuts, made.depths) = ("5".into(), vec![1]);
    let cells = sessions.iter().flat_map(|session| {
        presets.iter().map(|name| preset(&session.transcript, name)).collect::<Vec<_>>()
    });
    let results = Sessions::new(cells, cuts);
    measure(made, "d".into(), sessions, results)
}

fn row<'a>(report: &'a Report, name: &str) -> &'a PresetRow {
    report.rows.iter().find(|row| row.dataset == "ALL" && row.strategy == name).unwrap()
}

#[track_caller]
fn close(row: &PresetRow, id: &str, expected: f64) {
    let found = row.number_of(id);
    let near = found.is_some_and(|x| (x - expected).abs() < 1e-9);
    assert!(near, "{id}: {:?}, expected {expected}", row.values.get(id));
}

#[test]
fn every_share_counts_its_states() {
    let facts: Vec<FactAtStake> =
        [(1, 500), (2, 900), (6, 1_500), (7, 5_000), (21, 6_000), (40, 7_000)]
            .map(|(behind, tokens)| fact(behind, tokens))
            .to_vec();
    let cuts = vec![cut("s", facts).with("a", "vcbplr", 3_000).with("null:a", "vlllll", 2_500)];
    let report = run(&["s"], &["a", "null:a"], cuts);
    let a = row(&report, "a");
    close(a, "cuts", 1.0);
    close(a, "facts_at_stake", 6.0);
    close(a, "sessions_at_stake", 1.0);
    close(a, "largest_share", 1.0);
    close(a, "kept_at_cut", 2.0 / 6.0);
    close(a, "kept_at_cut_first", 2.0 / 6.0);
    close(a, "exposed_share", 5.0 / 6.0);
    close(a, "carried_share", 1.0 / 5.0);
    close(a, "bare_at_cut", 1.0 / 6.0);
    close(a, "recovered_at_cut", 1.0 / 6.0);
    // One of six facts more than without the text.
    close(a, "added_at_cut", 1.0 / 6.0);
    // 3,000 minus the preamble are 1,000 tokens: the newest messages of that
    // size contain two facts.
    close(a, "gain_at_cut", 0.0);
    close(a, "tokens_at_cut", 0.3);
    close(a, "kept_per_1k", 2.0 / 3.0);
    // The third fact is used at the sixth request.
    close(a, "first_miss", 6.0);
    // Bare, partial and recovered facts are not lost.
    close(a, "irrecoverable_at_cut", 1.0 / 6.0);
    close(a, "kept_at_cut_1_5", 1.0);
    close(a, "kept_at_cut_6_20", 0.0);
    close(a, "kept_at_cut_21_40", 0.0);
    assert_eq!(report.primary, Primary::KeptAtCut);
    assert_eq!(a.rank, Some(1));
}

#[test]
fn small_sessions_weigh_their_number_of_facts() {
    // 40, 10 and 2 + 1 facts, of which 20, 9 and 3 are kept. The last two
    // sessions pool to one cluster of 3 facts. Weights 30, 10 and 3:
    // (30 · 0.5 + 10 · 0.9 + 3 · 1.0) / 43.
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
    close(a, "kept_at_cut", 27.0 / 43.0);
    close(a, "n_clusters", 3.0);
    close(a, "largest_share", 30.0 / 43.0);
    close(a, "sessions_at_stake", 4.0);
    close(a, "cuts", 6.0);
}

/// A session whose made questions are of these kinds.
fn questioned(id: &str, kinds: &[ProbeKind]) -> TranscriptFacts {
    let made = kinds.iter().fold(facts(id), |made, &kind| made.probe(kind, 10, 0)).build();
    TranscriptFacts { cut_questions: made.probes, probes: Vec::new(), ..session(id) }
}

#[test]
fn continuity_at_cuts_counts_questions_that_are_right_just_before() {
    use ProbeKind::{Abstain, Fact};
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
    close(a, "continuity_at_cut_first", 50.0);
    close(row(&report, "full"), "continuity_at_cut", 100.0);
    // The question without a score under the preset has one uncompressed.
    close(row(&report, "full"), "questions_at_cut", 9.0);
}

#[test]
fn no_question_that_is_right_before_a_cut_leaves_no_continuity() {
    let sessions = vec![questioned("t", &[ProbeKind::Fact])];
    let cuts = vec![
        (cut("t", Vec::new()).with("full", "", 10_000).asked(0, "w"))
            .with("a", "", 3_000)
            .asked(0, "r"),
    ];
    let report = run_of(sessions, &["full", "a"], cuts);
    absent(row(&report, "a"), "continuity_at_cut", "can be answered uncompressed");
}

#[test]
fn the_median_of_first_misses_includes_cuts_without_a_miss() {
    // Misses at requests 3 and 10, and two cuts without any in 40 requests:
    // half are missed by request 10.
    let one = |behind| vec![fact(behind, 100)];
    let cuts = vec![
        cut("s", one(3)).with("a", "l", 3_000),
        cut("s", one(10)).at(12).with("a", "l", 3_000),
        cut("s", one(5)).at(14).with("a", "v", 3_000),
        cut("s", one(5)).at(16).with("a", "c", 3_000),
    ];
    let report = run(&["s"], &["a"], cuts);
    close(row(&report, "a"), "first_miss", 10.0);
}

#[test]
fn dollars_of_a_cut_are_means_and_the_break_even_is_a_median() {
    let bill = |with, pays_after| CutBill {
        billed_as: RECORDED.into(),
        compactions_usd: Some(0.5),
        with_usd: Some(with),
        without_usd: Some(3.0),
        pays_after,
        saved_per_request_usd: Some(0.1),
    };
    let cuts = vec![
        cut("s", vec![fact(1, 100)]).with("a", "l", 3_000).bill(bill(1.0, Some(7))),
        cut("s", vec![fact(1, 100)]).at(12).with("a", "l", 3_000).bill(bill(3.5, None)),
    ];
    let report = run(&["s"], &["a"], cuts);
    let a = row(&report, "a");
    // 0.5 + 1.0 − 3.0 and 0.5 + 3.5 − 3.0.
    close(a, "cut_cost_usd", -0.25);
    close(a, "pays_after", 7.0);
}

#[test]
fn no_preset_is_ranked_without_facts_at_stake() {
    let five = || (1..=5).map(|behind| fact(behind, 100)).collect();
    let both = |facts, a, b| vec![cut("s", facts).with("a", a, 9_000).with("b", b, 3_000)];
    let report = run(&["s"], &["a", "b"], both(five(), "vvvvv", "ccccc"));
    let (a, b) = (row(&report, "a"), row(&report, "b"));
    assert_eq!((a.rank, b.rank), (None, Some(1)));
    assert!(a.risked_nothing(crate::model::Primary::KeptAtCut));
    // One fact is too few for a rank.
    let report = run(&["s"], &["a", "b"], both(vec![fact(1, 100)], "l", "c"));
    assert!(report.rows.iter().all(|row| row.rank.is_none()));
    let said = answer(&report);
    assert!(said.contains("rests on 1 fact, and a rank takes 5"), "{said}");
    let cuts = vec![cut("s", vec![fact(1, 100)]).with("a", "v", 9_000)];
    let report = run(&["s"], &["a"], cuts);
    let said = answer(&report);
    assert!(said.contains("Nothing was at stake"), "{said}");
}

#[test]
fn a_preset_that_failed_at_a_cut_is_not_ranked_and_has_a_reason() {
    let mut cuts = vec![cut("s", vec![fact(1, 100)]).with("a", "l", 3_000)];
    cuts[0].rows[0].outcome = CutOutcome::Failed { error: "the compactor is away".into() };
    let report = run(&["s"], &["a"], cuts);
    let a = row(&report, "a");
    assert_eq!(a.rank, None);
    assert!(a.failed[0].contains("cut at request 10") && a.failed[0].contains("is away"));
}

#[test]
fn texts_that_add_nothing_over_empty_ones_are_named_in_the_verdict() {
    let cuts = |own: &str| {
        let facts = (1..=6).map(|behind| fact(behind, 100)).collect();
        vec![cut("s", facts).with("a", own, 3_000).with("null:a", "vvvlll", 2_500)]
    };
    let told = |report: &Report| answer(report);
    let same = told(&run(&["s"], &["a", "null:a"], cuts("vvvlll")));
    assert!(same.contains("not known to keep more than an empty text"), "{same}");
    let more = told(&run(&["s"], &["a", "null:a"], cuts("vvvccc")));
    assert!(!more.contains("empty text"), "{more}");
}

#[test]
fn a_run_without_cuts_is_ranked_by_references() {
    let report = run(&["s"], &["a"], Vec::new());
    assert_eq!(report.primary, Primary::ReferenceRecall);
}
