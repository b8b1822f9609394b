//! Compactions that work while the conversation goes on (how-it-works §25).

use std::sync::Arc;

use crate::common::{Scribe, block_on, ledger, message, plan, prepared, sent, strategy, text};
use recap_billing::pricing::{BillingModel, PriceList};
use recap_core::model::{CellOutcome, CellRows, LatencySource, Role, Session};
use recap_replay::{Plan, ReplaySession, replay};
use recap_strategy::Compactor;

/// A model that takes 50 seconds a call.
fn slow() -> Scribe {
    Scribe::taking(50.0)
}

/// Messages in each task so far.
fn asked(slow: &Scribe) -> Vec<usize> {
    slow.asked().iter().map(Vec::len).collect()
}

/// A user and an assistant by turns, a message every 20 seconds from 0 on.
fn talk(messages: usize) -> Session {
    let one = |at: usize| {
        let role = if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let mut message = message(at, role, vec![text(10)]);
        message.at = Some(jiff::Timestamp::from_second(20 * at as i64).unwrap());
        message
    };
    Session { id: "small".into(), messages: (0..messages).map(one).collect(), ..Session::default() }
}

/// Folds all but the last two messages whenever more than four are sent.
fn folding() -> Plan {
    let stage = "[[stage]]\nmechanism = \"continuation\"\nat = \"append\"\nbackground = true\n\
                 when = { messages = 4 }\nkeep_last = 2\nkeep_summaries = \"last\"\n\
                 request = \"fresh\"\nmax_tokens = 100\nprompt = \"p.md\"";
    plan(strategy(stage), 100_000)
}

fn rows(messages: usize, compactor: &dyn Compactor) -> CellRows {
    match block_on(replay(&prepared(talk(messages)), &folding(), compactor)).cell.outcome {
        CellOutcome::Done(rows) => *rows,
        CellOutcome::Failed { error } => panic!("{error}"),
    }
}

#[test]
fn context_waits_for_answer_and_keeps_newer_messages() {
    // Message 4 comes at 80 s and sets it off; it is done at 130 s. The request
    // of message 7 is sent at 120 s and answered at 140 s, that of message 9 is sent at 160 s.
    let slow = slow();
    let rows = rows(10, &slow);
    let first = &rows.compactions[0];
    assert!(first.background);
    assert_eq!((first.begun, first.request, first.messages_seen), (2, 4, 7));
    assert_eq!(first.messages_folded, 3, "messages 0 to 2; 3 and 4 were the last two");
    assert_eq!(first.latency_ms, Some(50_000.0));
    assert_eq!(first.latency_source, Some(LatencySource::Recorded));
    // 9 messages of 10 tokens are there; three give way to the summary.
    let sent: Vec<u32> = rows.requests.iter().map(|request| request.messages).collect();
    assert_eq!(sent, [1, 3, 5, 7, 7]);
}

#[test]
fn triggers_are_ignored_while_compaction_is_in_flight() {
    // Messages 5 and 6 are over the count as well. After the first has
    // landed, message 7 sets off the second, with 3 to 5 in it.
    let slow = slow();
    rows(10, &slow);
    assert_eq!(asked(&slow), [3, 3]);
}

#[test]
fn compaction_unfinished_at_session_end_is_only_recorded() {
    let rows = rows(10, &slow());
    let [_, late] = &rows.compactions[..] else { panic!("there are two") };
    assert_eq!((late.begun, late.request), (4, 5));
    assert_eq!(late.error.as_deref(), Some("the session ended before it was done"));
    assert_eq!((late.messages_folded, late.tokens_after), (0, late.tokens_before));
    assert_eq!(late.model_calls, 1, "it was paid for");
}

#[test]
fn calls_bill_their_own_compaction_despite_earlier_effect() {
    // The window hides messages from the request of message 7 on, at 120 s: it
    // begins after the first fold, and takes effect before it.
    let stages = "[[stage]]\nmechanism = \"continuation\"\nat = \"append\"\nbackground = true\n\
                  when = { messages = 4 }\nkeep_last = 2\nkeep_summaries = \"last\"\n\
                  request = \"fresh\"\nmax_tokens = 100\nprompt = \"p.md\"\n\
                  [[stage]]\nmechanism = \"sliding-window\"\nat = \"request\"\n\
                  when = { messages = 5 }\nlast = 5";
    let mut plan = plan(strategy(stages), 100_000);
    let prices = PriceList::bundled().find("claude-sonnet-5-5").unwrap().clone();
    let model = prices.id.clone();
    let prices = Some(Arc::new(prices));
    let billing_model =
        BillingModel { billed_as: model.clone(), model, prices, others: Vec::new() };
    plan.billing_models = Arc::new([billing_model]);
    let slow = slow();
    let outcome = block_on(replay(&prepared(talk(10)), &plan, &slow)).cell.outcome;
    let CellOutcome::Done(rows) = outcome else { panic!("it failed") };
    let row = |at: u32| {
        let row = &rows.compactions[at as usize];
        (&*row.mechanism, row.begun, row.request)
    };
    assert_eq!(row(0), ("sliding-window", 3, 3));
    assert_eq!(row(1), ("continuation", 2, 4));
    let calls = rows.bills[0].calls.iter().map(|call| row(call.compaction));
    assert_eq!(calls.collect::<Vec<_>>(), [("continuation", 2, 4), ("continuation", 4, 5)]);
}

#[test]
fn failure_leaves_context_unchanged_and_next_trigger_retries() {
    let slow = slow().failing_at(&[0]);
    let rows = rows(10, &slow);
    assert!(rows.compactions[0].fallback.is_some());
    assert_eq!(rows.compactions[0].messages_folded, 0);
    assert_eq!(asked(&slow)[..2], [3, 4], "asked at message 4, and again at message 5");
    assert_eq!(rows.compactions[1].messages_folded, 4);
}

#[test]
fn session_copied_with_compaction_in_flight_goes_on_identically() {
    let prepared = prepared(talk(14));
    let (plan, straight_slow, resumed_slow) = (folding(), slow(), slow());
    let mut straight = ReplaySession::open(&prepared, &plan, &straight_slow).unwrap();
    let mut resumed = ReplaySession::open(&prepared, &plan, &resumed_slow).unwrap();
    let mut folded = false;
    loop {
        resumed = resumed.copied().unwrap();
        let more = block_on(straight.step()).unwrap();
        assert_eq!(more, block_on(resumed.step()).unwrap());
        assert_eq!(sent(&straight), sent(&resumed));
        assert_eq!(ledger(&straight), ledger(&resumed));
        folded |= ledger(&straight).contains('F');
        if !more {
            break;
        }
    }
    assert!(folded);
    assert_eq!(asked(&straight_slow), asked(&resumed_slow));
}

#[test]
fn hiding_messages_per_request_is_refused_as_background() {
    let stage = "version = 1\nname = \"t\"\nsummary = \"\"\nsource = \"\"\n[[stage]]\nat = \
                 \"request\"\nwhen = \"always\"\nmechanism = \"sliding-window\"\nlast = 4\n\
                 background = true";
    let refused =
        recap_strategy::Strategy::parse(None, "t.toml", stage, &[], &|_| None).unwrap_err();
    assert!(refused.to_string().contains("background"), "{refused}");
}
