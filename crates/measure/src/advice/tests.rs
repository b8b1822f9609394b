//! Advice from small tables of cuts, with values worked out by hand.

use super::sizes::{Money, bounds, estimate, money};
use super::*;
use crate::measure;
use crate::statistics::Clusters;
use crate::testkit::{cell, facts, manifest};
use recap_core::model::{
    Cell, Cut, CutBill, CutExam, CutOutcome, CutRow, Fact, Followed, FollowedSession,
    IdentifierClass, NoCut, RECORDED, ReferenceState, Report, RunResults, SizeFigures,
};

/// The bill of a compaction that saves this by the end of a session with 20
/// requests to come, all of which are replayed.
fn saving(usd: f64) -> CutBill {
    CutBill {
        billed_as: RECORDED.into(),
        compactions_usd: Some(2.0),
        with_usd: Some(8.0 - usd),
        without_usd: Some(10.0),
        pays_after: (usd >= 0.0).then_some(12),
        saved_per_request_usd: Some((2.0 + usd) / 20.0),
    }
}

/// A strategy at a cut: how many of ten facts it keeps, and its bill.
struct Row(&'static str, RowKind, usize, CutBill);

fn ranked(kept: usize, usd: f64) -> Row {
    Row("prune", RowKind::Ranked, kept, saving(usd))
}

/// A cut of a session at a context of this size, with ten facts.
fn cut(session: &str, tokens: u64, rows: Vec<Row>) -> Cut {
    let fact = |n: u32| Fact {
        request: (tokens / 1_000) as u32 + 3,
        text: format!("src/{n}.rs"),
        class: IdentifierClass::Path,
        last_seen: 0,
        newest_tokens: 5_000,
        refetch: None,
        reread: false,
    };
    let row = |Row(strategy, row_kind, kept, bill)| {
        let state = |n| if n < kept { ReferenceState::Verbatim } else { ReferenceState::Lost };
        let mut exam = CutExam::of_states(tokens, tokens / 2, (0..10).map(state).collect());
        exam.bills.push(bill);
        let outcome = CutOutcome::Done(Box::new(exam));
        CutRow { strategy: String::from(strategy), replicate: 0, row_kind, outcome }
    };
    Cut {
        dataset: "d".into(),
        session: session.into(),
        request: (tokens / 1_000) as u32,
        recorded: false,
        requests: 20,
        left: Some(20),
        messages: 20,
        tokens_before: tokens,
        preamble_tokens: 2_000,
        facts: (0..10).map(fact).collect(),
        rows: rows.into_iter().map(row).collect(),
    }
}

/// A report on so many sessions with these cuts each.
fn report(sessions: usize, cuts: impl Fn(&str, usize) -> Vec<Cut>) -> Report {
    let ids: Vec<String> = (0..sessions).map(|n| format!("s{n}")).collect();
    let cuts: Vec<Cut> = ids.iter().enumerate().flat_map(|(n, id)| cuts(id, n)).collect();
    let mut made = manifest(&["native"]);
    (made.cuts, made.depth) = ("20".into(), 1);
    let mut strategies: BTreeMap<String, RowKind> = BTreeMap::new();
    for row in cuts.iter().flat_map(|cut| &cut.rows) {
        strategies.insert(row.strategy.clone(), row.row_kind);
    }
    let one = |id: &String, (name, row_kind): (&String, &RowKind)| -> Cell {
        let made = cell(id, name).window("native", 200_000).sent(&[1_000; 60]);
        if *row_kind == RowKind::OfflineSummary {
            made.offline_summary().build()
        } else {
            made.build()
        }
    };
    let cells = ids.iter().flat_map(|id| strategies.iter().map(move |strategy| one(id, strategy)));
    let cells: Vec<Cell> = cells.collect();
    let matching = ids.iter().map(|id| facts(id).requests(&[90_000; 60]).build()).collect();
    measure(made, "d".into(), matching, RunResults::new(cells, cuts))
}

/// The advice on a run.
fn advice(report: &Report) -> Advice {
    let unusable = report.rows.iter().filter(|row| row.row_kind == RowKind::Unusable);
    let unusable = unusable.map(|row| row.strategy.clone()).collect();
    super::advice(&report.manifest, &report.sessions, &report.results, &unusable)
}

fn figures<'a>(advice: &'a Advice, strategy: &str, from: u64) -> &'a SizeFigures {
    let strategy = advice.strategies.iter().find(|one| one.strategy == strategy).unwrap();
    strategy.sizes.iter().find(|size| size.from == from).unwrap()
}

#[test]
fn compaction_keeps_saving_at_its_rate_beyond_replay() {
    let bill = CutBill {
        billed_as: RECORDED.into(),
        compactions_usd: Some(5.0),
        with_usd: Some(6.0),
        without_usd: Some(10.0),
        pays_after: None,
        saved_per_request_usd: Some(0.25),
    };
    // 10 - 6 - 5 = -1 after 40 requests; 4 more at 0.25 meet it, and 20 more
    // leave 4.
    assert_eq!(money(&bill, 40, 40), Some(Money { saving: -1.0, break_even: Some(44.0) }));
    assert_eq!(money(&bill, 40, 60), Some(Money { saving: 4.0, break_even: Some(44.0) }));
    let met = CutBill { pays_after: Some(7), with_usd: Some(5.0), ..bill.clone() };
    assert_eq!(money(&met, 40, 40), Some(Money { saving: 0.0, break_even: Some(7.0) }));
    // The bills met at the seventh request, and later compactions parted them.
    let parted = CutBill { pays_after: Some(7), ..bill.clone() };
    assert_eq!(money(&parted, 40, 40).unwrap().break_even, Some(44.0));
    let dear = CutBill { saved_per_request_usd: Some(-0.25), ..bill.clone() };
    assert_eq!(money(&dear, 40, 60), Some(Money { saving: -6.0, break_even: None }));
    let even = CutBill { saved_per_request_usd: Some(0.0), ..bill.clone() };
    assert_eq!(money(&even, 40, 60), Some(Money { saving: -1.0, break_even: None }));
    assert_eq!(money(&CutBill { with_usd: None, ..bill }, 40, 60), None);
}

#[test]
fn compaction_without_prompt_cache_saves_more_and_sooner() {
    // From 100,000 to 40,000 tokens at $1 a million, the summary for $0.05.
    // Without a cache the call reads all for $0.10, and each of 40 requests
    // costs 0.04 instead of 0.10: 40 · 0.06 − 0.15 = 2.25.
    let none = CutBill {
        billed_as: RECORDED.into(),
        compactions_usd: Some(0.15),
        with_usd: Some(1.6),
        without_usd: Some(4.0),
        pays_after: Some(3),
        saved_per_request_usd: Some(0.06),
    };
    // With reads at a tenth and writes at 1.25 the call takes 0.01 + 0.05, the
    // first request writes for 0.05 instead of reading for 0.01, and each later
    // one saves 0.006: −0.06 − 0.04 + 39 · 0.006 = 0.134.
    let cached = CutBill {
        compactions_usd: Some(0.06),
        with_usd: Some(0.05 + 39.0 * 0.004),
        without_usd: Some(0.4),
        pays_after: Some(18),
        saved_per_request_usd: Some(0.006),
        ..none.clone()
    };
    let (none, cached) = (money(&none, 40, 40).unwrap(), money(&cached, 40, 40).unwrap());
    assert!((none.saving - 2.25).abs() < 1e-9 && (cached.saving - 0.134).abs() < 1e-9);
    assert_eq!((none.break_even, cached.break_even), (Some(3.0), Some(18.0)));
}

#[test]
fn each_size_ends_at_twice_the_one_before() {
    assert_eq!(bounds(3_999), (0, 4_000));
    assert_eq!(bounds(4_000), (4_000, 8_000));
    assert_eq!(bounds(64_000), (64_000, 128_000));
    assert_eq!(bounds(127_999), (64_000, 128_000));
}

#[test]
fn six_clusters_have_intervals_and_fewer_have_extremes() {
    let of = |n: usize| Clusters::new((1..=n).map(|x| vec![x as f64]).collect());
    let few = estimate(&of(3), 1).unwrap();
    assert_eq!((few.value, few.lo, few.hi, few.tested), (2.0, 1.0, 3.0, false));
    // s = √3.5, t(0.975; 5) = 2.570582: 3.5 ± 2.570582 · √(3.5 / 6).
    let six = estimate(&of(6), 1).unwrap();
    assert!(six.tested && (six.hi - 5.463_324).abs() < 1e-5 && (six.lo - 1.536_676).abs() < 1e-5);
    assert_eq!(estimate(&of(0), 1), None);
}

#[test]
fn figures_are_session_means_and_cut_medians() {
    // Session s0 has two cuts in the size, 1 and 3: its mean is 2. With 0, …, 0
    // from five others the mean is 2 / 6. Of seven compactions all paid back.
    let report = report(6, |id, n| match n {
        0 => vec![cut(id, 70_000, vec![ranked(8, 1.0)]), cut(id, 90_000, vec![ranked(6, 3.0)])],
        _ => vec![cut(id, 80_000, vec![ranked(9, 0.0)])],
    });
    let advice = advice(&report);
    let at = figures(&advice, "prune", 64_000);
    assert_eq!((at.cuts, at.compacted, at.sessions, at.tokens), (7, 7, 6, 80_000));
    assert_eq!((at.requests_left, at.break_even_requests), (20.0, Some(12.0)));
    assert_eq!((at.paid_back, at.facts, at.extrapolated), (Some(1.0), 70, 0));
    assert!((at.saving_usd.unwrap().value - 1.0 / 3.0).abs() < 1e-9);
    // 14 of 20 and 9 of 10: (20 · 0.7 + 5 · 10 · 0.9) / 70.
    assert!((at.kept.unwrap().value - 59.0 / 70.0).abs() < 1e-9);
    assert_eq!(at.missing["path"], (11, 70));
}

#[test]
fn always_saving_is_yes_never_saving_is_no() {
    let at = |usd| {
        report(6, move |id, _| {
            [20_000, 80_000].map(|tokens| cut(id, tokens, vec![ranked(8, usd)])).into()
        })
    };
    let never = advice(&at(-1.0));
    assert_eq!((never.pays, never.because, never.choice), (Payback::No, Reason::NoSaving, None));
    assert_eq!(figures(&never, "prune", 64_000).paid_back, Some(0.0));
    let even = advice(&at(0.0));
    assert_eq!((even.pays, even.because, even.choice), (Payback::No, Reason::NoSaving, None));
    assert_eq!(figures(&even, "prune", 64_000).paid_back, Some(1.0));
    let always = advice(&at(1.0));
    assert_eq!((always.pays, always.because), (Payback::Yes, Reason::Saves));
    assert_eq!(always.strategies[0].from_tokens, Some(16_000));
}

#[test]
fn pays_from_smallest_size_with_only_savings_above() {
    let worth = [(9_000, 1.0), (20_000, -1.0), (40_000, 1.0), (80_000, 2.0), (150_000, 1.5)];
    let report =
        report(6, |id, _| worth.map(|(tokens, usd)| cut(id, tokens, vec![ranked(8, usd)])).into());
    let advice = advice(&report);
    // The saving at 8,000 does not count: at 16,000 there is a loss.
    assert_eq!(advice.strategies[0].from_tokens, Some(32_000));
    let (strategy, at) = advice.chosen().unwrap();
    assert_eq!((strategy.strategy.as_str(), at.from, at.tokens), ("prune", 64_000, 80_000));
    assert_eq!(advice.basis.limits, Some(Limits { least: 200_000, most: 200_000 }));
    assert_eq!((advice.basis.largest_tokens, advice.basis.cuts), (150_000, 30));
}

#[test]
fn size_reached_by_few_sessions_is_worth_less() {
    // Twelve sessions save 1 at 20,000 tokens; six of them reach 80,000 and save
    // 1.5 there: 12 against 9 dollars.
    let report = report(12, |id, n| {
        let mut cuts = vec![cut(id, 20_000, vec![ranked(8, 1.0)])];
        cuts.extend((n < 6).then(|| cut(id, 80_000, vec![ranked(8, 1.5)])));
        cuts
    });
    assert_eq!(advice(&report).chosen().unwrap().1.from, 16_000);
}

#[test]
fn interval_containing_zero_leaves_answer_undecided() {
    let report =
        report(6, |id, n| vec![cut(id, 80_000, vec![ranked(8, if n < 3 { 2.0 } else { -1.0 })])]);
    let advice = advice(&report);
    assert_eq!(
        (advice.pays, advice.because, advice.choice),
        (Payback::Undecided, Reason::Open, None)
    );
}

#[test]
fn under_six_sessions_only_describe_and_decide_nothing() {
    let saves = report(1, |id, _| vec![cut(id, 80_000, vec![ranked(8, 1.0)])]);
    let one = advice(&saves);
    assert_eq!((one.pays, one.because), (Payback::Undecided, Reason::FewClusters));
    assert_eq!(one.strategies[0].from_tokens, None);
    assert_eq!(one.chosen().unwrap().1.saving_usd.unwrap().clusters, 1);
    let mixed =
        report(2, |id, n| vec![cut(id, 80_000, vec![ranked(8, if n == 0 { 1.0 } else { -1.0 })])]);
    let two = advice(&mixed);
    assert_eq!((two.because, two.choice), (Reason::FewClusters, None));
}

#[test]
fn saving_strategy_that_keeps_under_half_is_rejected() {
    let report = report(6, |id, _| vec![cut(id, 80_000, vec![ranked(4, 1.0)])]);
    let advice = advice(&report);
    assert_eq!((advice.pays, advice.because), (Payback::No, Reason::LosesTooMuch));
    assert_eq!(advice.strategies[0].from_tokens, Some(64_000));
}

#[test]
fn equally_keeping_strategies_are_ranked_by_saving() {
    let chosen = |kept: usize| {
        let report = report(6, |id, _| {
            let other = Row("mask", RowKind::Ranked, kept, saving(2.0));
            vec![cut(id, 80_000, vec![other, ranked(9, 1.0)])]
        });
        advice(&report).chosen().unwrap().0.strategy.clone()
    };
    assert_eq!(chosen(9), "mask");
    assert_eq!(chosen(6), "prune", "it is known to keep more");
}

#[test]
fn offline_summaries_are_never_recommended_despite_large_savings() {
    let offline_summary = || Row("codex", RowKind::OfflineSummary, 10, saving(5.0));
    let alone = report(6, |id, _| vec![cut(id, 80_000, vec![offline_summary()])]);
    let alone = advice(&alone);
    assert_eq!((alone.pays, alone.because), (Payback::Undecided, Reason::OnlyOfflineSummaries));
    assert_eq!(alone.strategies[0].from_tokens, Some(64_000));
    let both = report(6, |id, _| vec![cut(id, 80_000, vec![offline_summary(), ranked(8, 1.0)])]);
    assert_eq!(advice(&both).chosen().unwrap().0.strategy, "prune");
}

#[test]
fn missing_price_strategy_or_place_is_named() {
    let unpriced = CutBill { with_usd: None, ..saving(1.0) };
    let unpriced = report(6, |id, _| {
        vec![cut(id, 80_000, vec![Row("prune", RowKind::Ranked, 8, unpriced.clone())])]
    });
    let unknown = advice(&unpriced);
    assert_eq!((unknown.pays, unknown.because), (Payback::Undecided, Reason::NoPrice));
    assert_eq!(figures(&unknown, "prune", 64_000).saving_usd, None);
    let bare = report(6, |id, _| vec![cut(id, 80_000, Vec::new())]);
    assert_eq!(advice(&bare).because, Reason::NoStrategy);
    let mut short = report(3, |_, _| Vec::new());
    let why = NoCut::Short { requests: 3, tokens: 900, least: 4_000 };
    short.sessions.iter_mut().for_each(|facts| facts.no_cut = Some(why.clone()));
    let short = advice(&short);
    assert_eq!((short.pays, short.because), (Payback::No, Reason::NoPlace));
    assert_eq!(short.basis.not_cut, [(why.to_string(), 3)]);
    assert_eq!(short.basis.largest_tokens, 90_000);
}

#[test]
fn share_intervals_are_limited_to_zero_and_one() {
    // One of six sessions keeps all, five nothing: 1/6 ± 2.57 · 0.408 / √6 = ± 0.43.
    let of = |kept: fn(usize) -> usize| {
        let report = report(6, |id, n| vec![cut(id, 80_000, vec![ranked(kept(n), 1.0)])]);
        let advice = advice(&report);
        let kept = figures(&advice, "prune", 64_000).kept.unwrap();
        (kept.lo, kept.hi)
    };
    let (lo, hi) = of(|n| if n == 0 { 10 } else { 0 });
    assert!(lo == 0.0 && (hi - 0.595).abs() < 0.001, "{lo} {hi}");
    let (lo, hi) = of(|n| if n == 0 { 0 } else { 10 });
    assert!(hi == 1.0 && (lo - 0.405).abs() < 0.001, "{lo} {hi}");
}

#[test]
fn ties_recommend_first_name_and_smallest_size() {
    let chosen = |mask: f64, prune: f64| {
        let report = report(6, |id, _| {
            let rows = || vec![Row("mask", RowKind::Ranked, 8, saving(mask)), ranked(8, prune)];
            [20_000, 80_000].map(|tokens| cut(id, tokens, rows())).into()
        });
        let advice = advice(&report);
        let (strategy, size) = advice.chosen().unwrap();
        (strategy.strategy.clone(), size.from)
    };
    assert_eq!(chosen(1.0, 1.0), ("mask".to_owned(), 16_000));
    assert_eq!(chosen(1.0, 2.0), ("prune".to_owned(), 16_000));
}

#[test]
fn a_strategy_with_one_unusable_row_is_unusable() {
    for at in [0, 1] {
        let mut report = report(6, |id, _| vec![cut(id, 80_000, vec![ranked(8, 1.0)])]);
        assert_eq!(report.rows.len(), 2);
        report.rows[at].row_kind = RowKind::Unusable;
        let advice = advice(&report);
        assert_eq!(advice.strategies[0].row_kind, RowKind::Unusable);
        assert_eq!((advice.because, advice.choice), (Reason::NoStrategy, None));
    }
}

#[test]
fn repetitions_are_of_one_cut() {
    let exam = |cut: &mut Cut, row: usize, change: fn(&mut CutExam)| {
        if let CutOutcome::Done(exam) = &mut cut.rows[row].outcome {
            change(exam);
        }
    };
    let report = report(1, |id, _| {
        let rows = vec![ranked(8, 1.0), ranked(6, 3.0)];
        let mut acted = cut(id, 70_000, rows);
        (acted.rows[1].replicate, acted.left) = (1, Some(30));
        exam(&mut acted, 0, |exam| exam.blocking_ms = Some(100.0));
        exam(&mut acted, 1, |exam| exam.blocking_ms = Some(300.0));
        let mut idle = cut(id, 100_000, vec![ranked(10, 9.0)]);
        exam(&mut idle, 0, |exam| exam.compactions = 0);
        vec![acted, idle]
    });
    let advice = advice(&report);
    let at = figures(&advice, "prune", 64_000);
    assert_eq!((at.cuts, at.compacted, at.sessions, at.extrapolated), (2, 1, 1, 1));
    assert_eq!((at.tokens, at.requests_left, at.facts), (70_000, 30.0, 20));
    // 1 + 10 · 3/20 and 3 + 10 · 5/20; where nothing was compacted nothing is saved.
    assert!((at.saving_usd.unwrap().value - (2.5 + 5.5 + 0.0) / 3.0).abs() < 1e-9);
    assert_eq!((at.paid_back, at.break_even_requests), (Some(1.0), Some(12.0)));
    assert!((at.kept.unwrap().value - 24.0 / 30.0).abs() < 1e-9);
    assert_eq!((at.missing["path"], at.wait_ms), ((6, 30), Some(200.0)));
    assert_eq!(advice.strategies[0].sizes.len(), 1);
}

#[test]
fn unpriced_session_is_left_out_of_saving_only() {
    let report = report(2, |id, n| {
        let unpriced = CutBill { with_usd: None, ..saving(1.0) };
        let other = Row("prune", RowKind::Ranked, 5, unpriced);
        let mut cuts = vec![cut(id, 70_000, vec![ranked(7, 3.0)])];
        cuts.extend((n == 0).then(|| cut(id, 90_000, vec![other])));
        cuts
    });
    let advice = advice(&report);
    let at = figures(&advice, "prune", 64_000);
    let saving = at.saving_usd.unwrap();
    assert_eq!((saving.value, saving.clusters, at.sessions), (3.0, 1, 2));
    assert!((at.kept.unwrap().value - 19.0 / 30.0).abs() < 1e-9);
}

#[test]
fn first_name_among_best_keepers_is_the_benchmark() {
    // `mask` keeps 8 of 10 in each session and is known to keep more than `zip`;
    // `prune` keeps 6 and 10 in turn, which is as much and leaves that open.
    let report = report(6, |id, n| {
        let row = |name, kept, usd| Row(name, RowKind::Ranked, kept, saving(usd));
        let prune = row("prune", if n % 2 == 0 { 6 } else { 10 }, 2.0);
        vec![cut(id, 80_000, vec![row("mask", 8, 1.0), prune, row("zip", 7, 5.0)])]
    });
    assert_eq!(advice(&report).chosen().unwrap().0.strategy, "prune");
}

/// What 60 prompts of 500 tokens cost at $4 a million, and 60 outputs of 10 at $20.
const TODAY: f64 = 0.12 + 0.012;

/// A report on sessions that each cost [`TODAY`] under `recorded`; prune as advised
/// costs so much more in each, or has no bill.
fn followed(more: &[Option<f64>]) -> Report {
    let usd: Vec<Option<f64>> = more.iter().map(|more| Some(TODAY + (*more)?)).collect();
    let mut report = report(usd.len(), |id, _| vec![cut(id, 80_000, vec![ranked(8, 1.0)])]);
    let ids: Vec<String> = report.sessions.iter().map(|f| f.session.clone()).collect();
    let recorded = |id: &String| {
        let made = cell(id, "recorded").window("native", 200_000).control().sent(&[1_000; 60]);
        made.bill(RECORDED, "dear", &[(500, 0, 0); 60]).build()
    };
    let cells: Vec<Cell> = ids.iter().map(recorded).collect();
    cells.into_iter().for_each(|cell| report.results.add_cell(cell));
    report.results.close();
    let results = |(id, usd): (&String, &Option<f64>)| FollowedSession {
        dataset: "d".into(),
        session: id.clone(),
        usd: *usd,
        compactions: 4,
    };
    report.manifest.followed = Some(Followed {
        strategy: "prune".into(),
        from: 64_000,
        window: 160_000,
        sessions: ids.iter().zip(&usd).map(results).collect(),
    });
    report
}

#[test]
fn strategy_costing_as_much_as_today_is_rejected() {
    let cheaper = advice(&followed(&[Some(-0.02); 6]));
    assert_eq!((cheaper.pays, cheaper.because), (Payback::Yes, Reason::Saves));
    let through = cheaper.through.unwrap();
    assert!((through.today_usd - 6.0 * TODAY).abs() < 1e-9, "{through:?}");
    assert!((through.usd - 6.0 * (TODAY - 0.02)).abs() < 1e-9, "{through:?}");
    assert!(through.as_recorded && through.most.is_none() && through.sessions == 6);
    let dearer = advice(&followed(&[Some(0.001); 6]));
    assert_eq!((dearer.pays, dearer.because), (Payback::No, Reason::DearerInTheWhole));
    assert_eq!(dearer.chosen().unwrap().0.strategy, "prune", "it is named with the reason");
}

#[test]
fn session_causing_over_third_of_difference_is_named() {
    // The last one is 0.6 of 1.6.
    let mut usd = [Some(0.2); 6];
    usd[5] = Some(0.6);
    let most = advice(&followed(&usd)).through.unwrap().most.unwrap();
    assert_eq!((most.session.as_str(), most.compactions), ("s5", 4));
    assert!((most.difference_usd - 0.6).abs() < 1e-9);
    usd[5] = Some(0.4);
    assert_eq!(advice(&followed(&usd)).through.unwrap().most, None, "0.4 of 1.4");
    // A session may carry more than all of the difference.
    let one = [Some(-0.01), Some(-0.01), Some(-0.01), Some(-0.01), Some(-0.01), Some(5.0)];
    let most = advice(&followed(&one)).through.unwrap().most.unwrap();
    assert!((most.difference_usd - 5.0).abs() < 1e-9);
}

#[test]
fn unknown_or_unrelated_bills_decide_nothing() {
    let mut usd = vec![Some(9.0); 6];
    usd[2] = None;
    let unknown = advice(&followed(&usd));
    assert_eq!((unknown.pays, unknown.through), (Payback::Yes, None));
    for change in [(|followed| followed.from = 32_000) as fn(&mut Followed), |followed| {
        followed.strategy = "mask".into()
    }] {
        let mut report = followed(&[Some(9.0); 6]);
        change(report.manifest.followed.as_mut().unwrap());
        assert_eq!(advice(&report).through, None);
    }
}

#[test]
fn only_uncompacted_sessions_within_the_window_fit() {
    // The requests of 90,000 tokens fit 200,000; so does a cut at 80,000.
    let mut report = report(3, |id, _| vec![cut(id, 80_000, vec![ranked(8, 1.0)])]);
    assert_eq!(advice(&report).basis.fit, 3);
    report.sessions[1].recorded_compactions = 2;
    report.sessions[2].requests[7].tokens_full = 200_001;
    let basis = advice(&report).basis;
    assert_eq!((basis.fit, basis.recorded_compactions, basis.largest_tokens), (1, 2, 200_001));
}

#[test]
fn agent_setting_for_advised_strategy_shows_its_line() {
    let applied = |agent: Option<&str>, mut report: Report| {
        report.manifest.agent = agent.map(str::to_owned);
        let advice = advice(&report);
        (advice.pays, advice.apply.map(|setting| setting.line))
    };
    let cheaper = || followed(&[Some(-0.02); 6]);
    let line = Some("\"compaction\": {\"prune\": true}".to_owned());
    assert_eq!(applied(Some("opencode"), cheaper()), (Payback::Yes, line));
    // Claude Code and Codex clear no tool output on demand; nor is another agent known.
    for agent in [Some("claude-code"), Some("codex"), Some("kimi-code"), None] {
        assert_eq!(applied(agent, cheaper()), (Payback::Yes, None));
    }
    let dearer = followed(&[Some(0.001); 6]);
    assert_eq!(applied(Some("opencode"), dearer), (Payback::No, None), "it is not advised");
}

#[test]
fn share_is_of_the_window_all_models_have() {
    let window = |report: &Report| {
        let Report { manifest, sessions: facts, results, .. } = report;
        super::apply::native_window(Inputs { manifest, facts, results })
    };
    let cuts = |id: &str, _| vec![cut(id, 80_000, vec![ranked(8, 1.0)])];
    let mut report = report(2, cuts);
    assert_eq!(window(&report), Some(200_000));
    // What was assumed is no limit of a model.
    report.results.add_cell(cell("s0", "prune").window("25%", 40_000).sent(&[1_000; 60]).build());
    report.results.close();
    assert_eq!(window(&report), Some(200_000));
    report.results.add_cell(cell("s1", "fifo").window("native", 272_000).sent(&[1]).build());
    report.results.close();
    assert_eq!(window(&report), None);
}
