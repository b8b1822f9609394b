//! Tests of money and time with values computed by hand. Prices are those of
//! the testkit, in USD per million tokens: `dear` 4 uncached, 0.4 read, 5
//! written, 20 output, and 8 uncached above 1,000 tokens of prompt; `cheap` a
//! quarter. Every request of the testkit has 10 tokens of output.

use super::testkit::{
    CellBuilder, absent, breaking, cell, close, facts, full, manifest, prompt, run,
    twenty_references,
};
use super::*;
use recap_core::model::{CallBill, LatencySource, RECORDED, StrategyRow, Value, catalogue};

fn row<'a>(report: &'a Report, strategy: &str) -> &'a StrategyRow {
    let mut rows = report.rows.iter().filter(|r| r.dataset == "d" && r.strategy == strategy);
    rows.next().unwrap_or_else(|| panic!("no row of {strategy}"))
}

#[track_caller]
fn word(row: &StrategyRow, id: &str, expected: &str) {
    assert_eq!(row.values.get(id), Some(&Value::Text(expected.into())), "{id}");
}

/// Two requests of 300 and 600 tokens.
fn two(id: &str) -> SessionFacts {
    facts(id).requests(&[300, 600]).build()
}

#[test]
fn session_is_billed_by_bucket_and_against_full() {
    let report = run(vec![two("s")], vec![full("s").build(), breaking("s").build()]);
    let (full, own) = (row(&report, "full"), row(&report, "x"));
    close(full, "cost_usd", 0.003_52);
    close(full, "cost_savings", 0.0);
    close(full, "cache_hit_rate", 300.0 / 900.0);
    close(full, "cache_breaks", 0.0);
    close(own, "cost_usd", 0.003_9);
    close(own, "cost_savings", 1.0 - 3.9 / 3.52);
    close(own, "cache_hit_rate", 0.0);
    close(own, "cache_breaks", 1.0);
    close(own, "compaction_cost_usd", 0.0);
    absent(own, "cost_savings_vs_recorded", "needs the bill of the control `recorded`");
    assert_eq!(full.agent_model, "dear", "all are billed as one model");
}

#[test]
fn a_request_that_was_not_billed_costs_nothing() {
    let aborted = full("s").with_bill(|bill| bill.requests[0] = None);
    let report = run(vec![two("s")], vec![aborted.build()]);
    close(row(&report, "full"), "cost_usd", 0.001_82);
}

#[test]
fn rates_depend_on_the_length_of_each_prompt() {
    let one = facts("s").requests(&[1_000, 1_001]).build();
    let requests = [(1_000, 0, 0), (1_001, 0, 0)];
    let sent = cell("s", "x").sent(&[1_000, 1_001]).bill(RECORDED, "dear", &requests).build();
    let report = run(vec![one], vec![sent]);
    // 4.0 and 8.008 thousandths, and 0.4 of output.
    close(row(&report, "x"), "cost_usd", 0.012_408);
}

#[test]
fn compactions_are_billed_and_also_given_separately() {
    let sent = breaking("s").compaction(300, 100).with_bill(|bill| {
        bill.calls.push(CallBill { compaction: 0, prompt: prompt(500, 0, 0), output: 50 });
    });
    let report = run(vec![two("s")], vec![full("s").build(), sent.build()]);
    let own = row(&report, "x");
    // 500 uncached at 4 and 50 of output at 20.
    close(own, "compaction_cost_usd", 0.003);
    close(own, "cost_usd", 0.006_9);
}

#[test]
fn next_run_price_equals_offline_summary_call_price() {
    let offline_summary = |id| {
        let made = breaking(id).compaction(300, 100).offline_summary();
        let call = CallBill { compaction: 0, prompt: prompt(500, 0, 0), output: 50 };
        made.with_bill(|bill| bill.calls.push(call)).build()
    };
    let cells =
        vec![full("s").build(), offline_summary("s"), full("t").build(), offline_summary("t")];
    let report = run(vec![two("s"), two("t")], cells);
    let next = report.recommendation.as_ref().and_then(|found| found.next.as_ref());
    // Of each session 500 uncached at 4 and 50 of output at 20 a million: 0.003.
    let priced = "what a model's summaries keep (about $0.0060): ";
    assert!(next.is_some_and(|next| next.starts_with(priced)), "{next:?}");
}

#[test]
fn dollars_are_summed_and_savings_are_sum_ratios() {
    // The bill of session t is ten times as large, without savings.
    let large = [(0, 0, 3_000), (0, 3_000, 3_000)];
    let of_t = |name| cell("t", name).sent(&[3_000, 6_000]).bill(RECORDED, "cheap", &large);
    let cells = vec![
        full("s").build(),
        breaking("s").build(),
        of_t("full").control().build(),
        of_t("x").build(),
    ];
    let report = run(vec![two("s"), two("t")], cells);
    // 3.75 + 0.3 + 3.75 and 0.1 of output: 7.9.
    close(row(&report, "full"), "cost_usd", 0.003_52 + 0.007_9);
    close(row(&report, "x"), "cost_usd", 0.003_9 + 0.007_9);
    close(row(&report, "x"), "cost_savings", (3.52 - 3.9) / (3.52 + 7.9));
    assert_eq!(row(&report, "x").agent_model, RECORDED, "they are billed as different models");
}

#[test]
fn replicates_are_averaged_before_dollars_are_summed() {
    let again = cell("s", "x").replicate(1).sent(&[300, 400]);
    let again = again.bill(RECORDED, "dear", &[(0, 0, 300), (0, 300, 100)]).build();
    let report = run(vec![two("s")], vec![breaking("s").build(), again]);
    // 3.9 and 1.7 + 0.12 + 0.5 + 0.2 = 2.52.
    close(row(&report, "x"), "cost_usd", 0.003_21);
}

#[test]
fn session_of_unknown_price_is_left_out_and_never_zero() {
    let local = cell("t", "x").sent(&[300, 600]).bill(RECORDED, "local", &[(300, 0, 0); 2]).build();
    let alone = run(vec![two("t")], vec![local.clone()]);
    for id in ["cost_usd", "compaction_cost_usd"] {
        absent(row(&alone, "x"), id, "the price of local is unknown");
    }
    let cells = vec![full("s").build(), breaking("s").build(), local];
    let report = run(vec![two("s"), two("t")], cells);
    let own = row(&report, "x");
    close(own, "cost_usd", 0.003_9);
    // Session t has no cell of `full`: savings leave it out.
    close(own, "cost_savings", 1.0 - 3.9 / 3.52);
    // No known rule read anything: the rate is absent, not 0.
    absent(own, "cache_hit_rate", "the cache rules of local are unknown");
    close(own, "cache_breaks", 1.0);
    close(row(&report, "full"), "cost_usd", 0.003_52);
}

#[test]
fn run_without_bills_has_reason_instead_of_dollars() {
    let report = run(vec![two("s")], vec![cell("s", "x").sent(&[300, 400]).breaks(1).build()]);
    absent(row(&report, "x"), "cost_usd", "the run has no bill");
    absent(row(&report, "x"), "cache_hit_rate", "the run has no bill");
    close(row(&report, "x"), "cache_breaks", 1.0);
    assert_eq!(row(&report, "x").agent_model, RECORDED);
}

#[test]
fn agent_model_rows_differ_only_in_money() {
    let billed = |name: &str, requests: &[(u64, u64, u64)]| {
        let cell = cell("s", name).sent(&[300, 600]);
        cell.bill("dear", "dear", requests).bill("provider/cheap", "cheap", requests)
    };
    let cells = vec![
        billed("full", &[(0, 0, 300), (0, 300, 300)]).control().build(),
        billed("x", &[(300, 0, 0), (600, 0, 0)]).build(),
        cell("s", "y").failed("no"),
    ];
    let mut manifest = manifest(&["25%"]);
    manifest.agent_models = vec!["provider/cheap".into(), "dear".into()];
    let report = measure(manifest, "d".into(), vec![two("s")], RunResults::new(cells, []));
    let named = |r: &StrategyRow| (r.dataset.clone(), r.agent_model.clone(), r.strategy.clone());
    let rows: Vec<_> = report.rows.iter().map(named).collect();
    let mut expected = Vec::new();
    for dataset in ["d", "ALL"] {
        for billing_model in ["provider/cheap", "dear"] {
            let key = |name: &str| (dataset.to_owned(), billing_model.to_owned(), name.to_owned());
            expected.extend(["full", "x", "y"].map(key));
        }
    }
    assert_eq!(rows, expected, "as typed, and a failed cell for each");
    for of_dear in &report.rows[3..6] {
        let of_cheap = report.rows[..3].iter().find(|r| r.strategy == of_dear.strategy).unwrap();
        let four = of_dear.number(catalogue::COST_USD).zip(of_cheap.number(catalogue::COST_USD));
        assert!(four.is_none_or(|(dear, cheap)| (dear / cheap - 4.0).abs() < 1e-9), "{four:?}");
        assert_eq!(of_dear.number(catalogue::TOKENS_SENT), of_cheap.number(catalogue::TOKENS_SENT));
        assert_eq!(of_dear.failed, of_cheap.failed);
    }
}

#[test]
fn of_equal_rows_the_cheaper_one_comes_first() {
    // b sends less and costs more.
    let billed = |name: &str, sent: u64, requests: (u64, u64, u64)| {
        let cell = cell("s", name).sent(&[sent; 10]).states(&"k".repeat(20));
        cell.bill(RECORDED, "dear", &[requests; 10]).build()
    };
    let cells = vec![billed("a", 300, (0, 300, 0)), billed("b", 200, (200, 0, 0))];
    let report = run(vec![twenty_references("s")], cells);
    let names: Vec<&str> = report.rows.iter().map(|row| row.strategy.as_str()).collect();
    assert_eq!(names, ["a", "b", "a", "b"]);
    assert_eq!((row(&report, "a").rank, row(&report, "b").rank), (Some(1), Some(1)));
}

#[test]
fn lost_references_may_have_to_be_fetched_again() {
    // Message 2 has 30 tokens. At request 1 it contains two references; at
    // request 0 one that the recording read again, and one that no tool result
    // contained.
    let exam = || {
        facts("s")
            .requests(&[300, 600])
            .reference(0, 5_000, Some(2))
            .reread()
            .reference(0, 5_000, None)
            .reference(1, 5_000, Some(2))
            .reference(1, 5_000, Some(2))
            .build()
    };
    let report = run(vec![exam()], vec![breaking("s").states("llll").build()]);
    // One more request: 400 read, 30 written, 150 of output: 0.16 + 0.15 + 3.
    close(row(&report, "x"), "cost_usd_refetch", 0.003_9 + 0.003_31);
    let report = run(vec![exam()], vec![breaking("s").states("kkkk").build()]);
    close(row(&report, "x"), "cost_usd_refetch", 0.003_9);
    // A session without references adds its bill, so that the sum is complete.
    let cells = vec![breaking("s").states("llll").build(), breaking("t").build()];
    let report = run(vec![exam(), two("t")], cells);
    close(row(&report, "x"), "cost_usd_refetch", 0.007_8 + 0.003_31);
    let report = run(vec![two("s")], vec![breaking("s").build()]);
    absent(row(&report, "x"), "cost_usd_refetch", "no references");
}

#[test]
fn savings_are_against_recording_if_full_exceeds_window() {
    let recorded = cell("s", "recorded").control().sent(&[300, 500]);
    let recorded = recorded.bill(RECORDED, "dear", &[(300, 0, 0), (500, 0, 0)]);
    let cells = vec![full("s").overflow(1).build(), breaking("s").build(), recorded.build()];
    let report = run(vec![two("s")], cells);
    // 800 uncached and 0.4 of output: 3.6.
    close(row(&report, "x"), "cost_savings_vs_recorded", 1.0 - 3.9 / 3.6);
    let cells = vec![full("s").overflow(1).build(), breaking("s").build()];
    let report = run(vec![two("s")], cells);
    absent(row(&report, "x"), "cost_savings_vs_recorded", "needs the bill of the control");
}

#[test]
fn waits_cover_compactions_in_the_foreground() {
    let timed = |cell: CellBuilder, ms| cell.called(ms, LatencySource::Recorded);
    let sent = cell("s", "x").sent(&[300, 400]);
    // Before request 0 two compactions, 300 ms together; before request 1 one
    // without a model and one in the background.
    let sent = timed(sent.compaction(9, 1).before(0), 100.0);
    let sent = timed(sent.compaction(9, 1).before(0), 200.0);
    let sent = sent.compaction(9, 1).before(1);
    let sent = timed(sent.compaction(9, 1).before(1), 5_000.0).background();
    let report = run(vec![two("s")], vec![sent.build(), full("s").build()]);
    let own = row(&report, "x");
    close(own, "blocking_ms_p95", 300.0);
    word(own, "latency_source", "recorded");
    absent(row(&report, "full"), "blocking_ms_p95", "nothing was compacted");
}

#[test]
fn no_model_call_means_no_wait_or_source() {
    let sent = cell("s", "x").sent(&[300, 400]).compaction(9, 1).build();
    let report = run(vec![two("s")], vec![sent]);
    close(row(&report, "x"), "blocking_ms_p95", 0.0);
    absent(row(&report, "x"), "latency_source", "no model was called");
}

#[test]
fn times_of_two_sources_are_never_mixed() {
    let timed = |id: &str, source| {
        let cell = cell(id, "x").sent(&[300, 400]).compaction(9, 1).called(100.0, source);
        cell.build()
    };
    let cells = vec![timed("s", LatencySource::Live), timed("t", LatencySource::Modelled)];
    let report = run(vec![two("s"), two("t")], cells);
    let own = row(&report, "x");
    absent(own, "blocking_ms_p95", "live and modelled times do not mix");
    word(own, "latency_source", "mixed");
}

#[test]
fn call_without_time_makes_waits_unknown() {
    let sent = cell("s", "x").sent(&[300, 400]).compaction(9, 1);
    let sent = sent.with_compaction(|row| row.model_calls = 1);
    let report = run(vec![two("s")], vec![sent.build()]);
    absent(row(&report, "x"), "blocking_ms_p95", "latency of the compactor's calls is unknown");
}

#[test]
fn bill_not_fitting_its_requests_fails_the_cell() {
    let short = full("s").with_bill(|bill| bill.requests.truncate(1));
    let stray = full("s").with_bill(|bill| {
        bill.calls.push(CallBill { compaction: 0, prompt: prompt(1, 0, 0), output: 1 });
    });
    for edited in [short, stray] {
        let report = run(vec![two("s")], vec![edited.build()]);
        assert_eq!(row(&report, "full").failed.len(), 1);
    }
}

#[test]
fn every_call_of_a_compaction_is_billed_once() {
    let facts = two("s");
    let call =
        |compaction, uncached| CallBill { compaction, prompt: prompt(uncached, 0, 0), output: 0 };
    let sent = breaking("s").compaction(300, 100).before(0).compaction(300, 100).before(1);
    let sent = sent.compaction(300, 100).before(9).with_bill(|bill| {
        bill.calls.extend([call(0, 50), call(1, 100), call(2, 200), call(1, 25)]);
    });
    let cell = sent.build();
    let input = testkit::input(&facts, &cell);
    let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
    let account = input.account().unwrap();
    // 375 uncached at 4, those behind the last request included, and 3.9 for the requests.
    assert!(near(account.compactions().unwrap(), 0.001_5));
    assert!(near(account.session().unwrap(), 0.005_4));
}
