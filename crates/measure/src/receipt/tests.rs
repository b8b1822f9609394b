use jiff::Timestamp;

use super::*;
use crate::testkit::{facts, manifest};
use recap_core::model::{
    Cause, CompactionFacts, Hour, Origin, Rebuilt, ReceiptFacts, RecordedCall, SIDECHAIN,
    SessionTotal,
};

/// Uncached, read, written for five minutes and for an hour.
type Tokens = [u64; 4];

fn usage([input, cache_read, cache_write_5m, cache_write_1h]: Tokens) -> Usage {
    let output_final = true;
    Usage { input, cache_read, cache_write_5m, cache_write_1h, output_final, ..Usage::default() }
}

/// A session of `cheap` (USD per million: input 1, read 0.1, write 1.25, output 5) whose
/// requests are sent at these minutes.
fn session(requests: &[(i64, Tokens)]) -> SessionFacts {
    let sizes = vec![100; requests.len()];
    facts("s")
        .requests(&sizes)
        .with(|facts| {
            facts.model = Some("cheap".to_owned());
            for (request, (minute, tokens)) in facts.requests.iter_mut().zip(requests) {
                request.recorded = Some(usage(*tokens));
                request.at = Timestamp::from_second(60 * minute).unwrap();
                facts.messages[request.message as usize - 1].at = Some(request.at);
            }
            // Where requests choose how long a cache lives, no rule says so.
            let chosen = requests.iter().any(|(_, [.., minutes, hour])| minutes + hour > 0);
            let lifetimes = vec![(!chosen).then_some(600), None];
            facts.receipt = Some(ReceiptFacts { lifetimes, ..ReceiptFacts::default() });
        })
        .build()
}

/// The receipt of a session at the prices of the testkit, with a price for an hour.
fn priced(facts: &SessionFacts) -> Receipt {
    all_priced(std::slice::from_ref(facts))
}

fn all_priced(sessions: &[SessionFacts]) -> Receipt {
    let mut prices = manifest(&[]).prices;
    for entry in prices.models.values_mut() {
        let input = entry["input_cost_per_token"].as_f64().unwrap();
        entry["cache_creation_input_token_cost_above_1hr"] = (2.0 * input).into();
    }
    receipt(sessions, &PriceList::from(&prices))
}

/// Cause, lost tokens and millionths of a dollar of each cause.
fn rebuilt(facts: &SessionFacts) -> Vec<(Cause, u64, i64)> {
    let each = priced(facts).rebuilt.into_iter();
    each.map(|(cause, Rebuilt { lost, .. })| (cause, lost.tokens, millionths(&lost))).collect()
}

fn millionths(amount: &Amount) -> i64 {
    (amount.whole().unwrap() * 1e6).round() as i64
}

#[test]
fn loss_counts_over_1024_tokens_within_shorter_prompt() {
    let second = |read| rebuilt(&session(&[(0, [0, 0, 10_000, 0]), (1, [500, read, 20_000, 0])]));
    assert_eq!(second(8_976), []);
    // 1,025 tokens at 1.25 and not at 0.1.
    assert_eq!(second(8_975), [(Cause::ChangedPrompt, 1_025, 1_179)]);
    let shrunk = session(&[(0, [0, 0, 10_000, 0]), (1, [0, 1_000, 3_000, 0])]);
    assert_eq!(rebuilt(&shrunk), [(Cause::ChangedPrompt, 3_000, 3_450)]);
}

#[test]
fn idle_gap_exceeds_lifetime_of_cache_in_use() {
    let cause = |minute, [minutes, hour]: [u64; 2]| {
        let first = [0, 0, minutes, hour];
        rebuilt(&session(&[(0, first), (minute, [0, 0, 5_000, 0])]))[0].0
    };
    assert_eq!(cause(5, [5_000, 0]), Cause::ChangedPrompt);
    assert_eq!(cause(6, [5_000, 0]), Cause::IdleGap);
    assert_eq!(cause(60, [0, 5_000]), Cause::ChangedPrompt);
    assert_eq!(cause(61, [0, 5_000]), Cause::IdleGap);
    // What only read goes on living as the last write did.
    let read = session(&[(0, [0, 0, 0, 5_000]), (1, [10, 5_000, 0, 0]), (30, [0, 0, 5_000, 0])]);
    assert_eq!(rebuilt(&read)[0].0, Cause::ChangedPrompt);
}

#[test]
fn automatic_cache_without_writes_lives_by_own_rules() {
    let automatic = |minute| {
        session(&[(0, [5_000, 0, 0, 0]), (1, [100, 4_992, 0, 0]), (minute, [6_000, 0, 0, 0])])
    };
    // 4,992 are known to be cached: × (1 − 0.1).
    assert_eq!(rebuilt(&automatic(11)), [(Cause::ChangedPrompt, 4_992, 4_493)]);
    assert_eq!(rebuilt(&automatic(12)), [(Cause::IdleGap, 4_992, 4_493)]);
    let mut unknown = automatic(12);
    unknown.receipt.as_mut().unwrap().lifetimes[0] = None;
    assert_eq!(rebuilt(&unknown)[0].0, Cause::Unknown);
}

#[test]
fn writes_to_a_cache_of_fixed_life_do_not_choose_it() {
    let marked = |minute| {
        let mut facts = session(&[(0, [0, 0, 5_000, 0]), (minute, [0, 0, 6_000, 0])]);
        facts.receipt.as_mut().unwrap().lifetimes[0] = Some(1_800);
        rebuilt(&facts)[0].0
    };
    assert_eq!(marked(30), Cause::ChangedPrompt);
    assert_eq!(marked(31), Cause::IdleGap);
}

#[test]
fn compaction_or_model_change_explains_rebuild_whatever_gap() {
    let mut facts = session(&[(0, [0, 0, 9_000, 0]), (90, [0, 0, 9_000, 0])]);
    assert_eq!(rebuilt(&facts)[0].0, Cause::IdleGap);
    facts.other_models = vec!["dear".to_owned()];
    facts.requests[1].model = 1;
    // 9,000 at $10 less a read at 0.8, above 1,000 tokens of prompt.
    assert_eq!(rebuilt(&facts)[0].0, Cause::ModelChange);
    facts.receipt.as_mut().unwrap().compactions =
        vec![CompactionFacts { after: 2, ..CompactionFacts::default() }];
    assert_eq!(rebuilt(&facts)[0].0, Cause::Compaction);
    facts.receipt = None;
    assert_eq!(rebuilt(&facts)[0].0, Cause::Unknown, "a run of a version without receipts");
}

#[test]
fn without_both_times_a_gap_is_unknown() {
    for message in [0, 2] {
        let mut facts = session(&[(0, [0, 0, 9_000, 0]), (90, [0, 0, 9_000, 0])]);
        facts.messages[message].at = None;
        assert_eq!(rebuilt(&facts)[0].0, Cause::Unknown);
    }
}

#[test]
fn absurd_empty_or_unsplit_usage_is_never_billed() {
    let absurd = [u64::MAX, u64::MAX, 0, 0];
    let mut facts =
        session(&[(0, absurd), (1, [0; 4]), (2, [0, 0, 5_000, 0]), (3, [7_000, 0, 0, 0])]);
    facts.requests[3].recorded.as_mut().unwrap().cache_unknown = true;
    let receipt = priced(&facts);
    let all = receipt.all();
    assert_eq!((all.reported, all.silent), (2, 2));
    assert!(receipt.rebuilt.is_empty(), "how much of the last prompt was read is not known");
    let unsplit = &all.kinds[&TokenKind::PromptUnsplit];
    assert_eq!((unsplit.tokens, unsplit.whole()), (7_000, None));
    assert_eq!(unsplit.unpriced, Some(Absent::CacheNotTold));
    assert_eq!(millionths(&all.kinds[&TokenKind::CacheWrite5m]), 6_250);
    assert_eq!((all.total().tokens, all.total().whole()), (12_000, None));
}

#[test]
fn each_sender_pays_at_its_own_model() {
    let mut facts = session(&[(0, [1_000, 0, 0, 0])]);
    let own = |input| Usage { output: 100, ..usage([input, 0, 0, 0]) };
    facts.sidechains = vec![(Timestamp::UNIX_EPOCH, Some("dear".to_owned()), own(500))];
    facts.sidechains.push((Timestamp::UNIX_EPOCH, None, own(500)));
    facts.recorded_compactions = 2;
    let call = RecordedCall { model: None, usage: own(2_000), latency_ms: None };
    let compactions = [Some(call), None].map(|call| CompactionFacts {
        after: 2,
        call,
        ..CompactionFacts::default()
    });
    facts.receipt.as_mut().unwrap().compactions = compactions.to_vec();
    let receipt = priced(&facts);
    let spent =
        |sender, model: Option<&str>| receipt.spent[&(sender, model.map(str::to_owned))].total();
    assert_eq!(millionths(&spent(Sender::Main, Some("cheap"))), 1_000);
    // `dear` takes 4 for input and 20 for output up to a prompt of 1,000 tokens.
    assert_eq!(millionths(&spent(Sender::Subagent, Some("dear"))), 2_000 + 2_000);
    let unnamed = spent(Sender::Subagent, None);
    assert_eq!((unnamed.tokens, unnamed.unpriced), (600, Some(Absent::NoModelNamed)));
    assert_eq!(millionths(&spent(Sender::Compaction, Some("cheap"))), 2_000 + 500);
    assert_eq!(receipt.silent_compactions, 1);
    facts.session = format!("s{SIDECHAIN}1");
    assert_eq!(priced(&facts).of(Sender::Main), Spent::default());
}

#[test]
fn hour_cache_spares_covered_gaps_but_raises_writes() {
    // Idle for 20 and for 90 minutes.
    let requests = [(0, [0, 0, 10_000, 0]), (20, [0, 0, 11_000, 0]), (110, [0, 0, 12_000, 0])];
    let receipt = priced(&session(&requests));
    let Hour { spared, saved, dearer } = receipt.hour.unwrap();
    assert_eq!(receipt.without_hour, None);
    assert_eq!(spared, 1);
    // 10,000 × (1.25 − 0.1); 10,000, 1,000 and 12,000 × (2 − 1.25).
    assert_eq!(((saved * 1e6).round(), (dearer * 1e6).round()), (11_500.0, 17_250.0));
}

#[test]
fn unavailable_hour_cache_choice_has_a_reason() {
    let why = |receipt: Receipt| (receipt.hour, receipt.without_hour);
    let of = |tokens: Tokens| why(priced(&session(&[(0, tokens)])));
    assert_eq!(of([0, 0, 0, 5_000]), (None, Some(Absent::HourAlready)));
    assert_eq!(of([5_000, 0, 0, 0]), (None, Some(Absent::NothingWritten)));
    assert_eq!(of([0; 4]), (None, None));
    let list = PriceList::from(&manifest(&[]).prices);
    let unlisted = receipt([&session(&[(0, [0, 0, 5_000, 0])])], &list);
    assert_eq!(why(unlisted), (None, Some(Absent::NoHour("cheap".to_owned()))));
    // Beside a session that has the choice, the other one is named.
    let both = [session(&[(0, [0, 0, 5_000, 0])]), session(&[(0, [0, 0, 0, 5_000])])];
    let both = all_priced(&both);
    assert!(both.hour.is_some());
    assert_eq!(both.without_hour, Some(Absent::HourAlready));
}

#[test]
fn session_contents_are_summed_with_most_sent_first() {
    let content = |origin, tool: Option<&str>, sent| Content {
        origin,
        tool: tool.map(str::to_owned),
        texts: 1,
        tokens: 10,
        sent,
    };
    let mut facts = session(&[(0, [0; 4])]);
    facts.receipt.as_mut().unwrap().contents = vec![
        content(Origin::User, None, 30),
        content(Origin::Result, Some("Read"), 20),
        content(Origin::Result, Some("Bash"), 45),
    ];
    let list = PriceList::from(&manifest(&[]).prices);
    let sums = receipt([&facts, &facts], &list).contents;
    let actual: Vec<_> =
        sums.iter().map(|c| (c.tool.as_deref(), c.texts, c.tokens, c.sent)).collect();
    assert_eq!(actual, [(Some("Bash"), 2, 20, 90), (None, 2, 20, 60), (Some("Read"), 2, 20, 40)]);
}

/// A session of two requests, one of which reports its tokens, with these totals.
fn with_totals(totals: Vec<SessionTotal>) -> Receipt {
    let mut facts = session(&[(0, [1_000, 0, 0, 0]), (1, [0; 4])]);
    facts.requests[1].recorded = None;
    facts.receipt.as_mut().unwrap().totals = totals;
    priced(&facts)
}

fn total(model: &str, requests: u64, tokens: Tokens, usd: Option<f64>) -> SessionTotal {
    SessionTotal { model: Some(model.to_owned()), requests, usage: usage(tokens), usd }
}

#[test]
fn a_total_adds_what_no_request_reports() {
    let of = |total| {
        let all = with_totals(vec![total]).all();
        let counts = [all.reported, all.in_totals, all.silent];
        (counts, all.total().tokens, all.total().whole().map(|usd| (usd * 1e6).round() as i64))
    };
    // 3,000 uncached and 5,000 read, of which 1,000 are reported: 3,000 and 500 millionths.
    assert_eq!(of(total("cheap", 2, [3_000, 5_000, 0, 0], None)), ([2, 1, 0], 8_000, Some(3_500)));
    // It covers no more than is reported; or says only what was paid.
    for covered in [total("cheap", 1, [900, 0, 0, 0], None), total("cheap", 2, [0; 4], Some(0.5))] {
        let paid = covered.usd;
        assert_eq!(of(covered.clone()), ([1, 0, 1], 1_000, Some(1_000)));
        assert_eq!(with_totals(vec![covered]).all().written_down, paid);
    }
    // Requests that nobody counted are one at least.
    assert_eq!(of(total("cheap", 0, [1_500, 0, 0, 0], None)), ([2, 1, 0], 1_500, Some(1_500)));
    // Another model, without a price.
    assert_eq!(of(total("unknown", 7, [500, 0, 0, 0], None)), ([8, 7, 1], 1_500, None));
    // Dollars of several models.
    let both = vec![total("cheap", 1, [0; 4], Some(0.5)), total("b", 1, [0; 4], Some(0.25))];
    assert_eq!(with_totals(both).all().written_down, Some(0.75));
}

#[test]
fn what_reports_nothing_has_no_price() {
    let mut facts = session(&[(0, [0; 4])]);
    facts.requests[0].recorded = None;
    let all = priced(&facts).all();
    assert_eq!((all.total().whole(), all.total().unpriced), (None, Some(Absent::NoUsage)));
    assert_eq!(Spent::default().total().whole(), Some(0.0));
}
