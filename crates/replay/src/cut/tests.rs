use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::PreparedSession;
use recap_billing::pricing::{BillingModels, PriceList};
use recap_core::model::{Block, Message, RecordedCompaction, Role, Session, Usage};
use recap_core::tokens::Counter;
use recap_exam::facts::Cuts;
use recap_exam::roles::compactor::EmptySummary;
use recap_strategy::{At, CallUsage, FailedCall, Produced, Reply, Scaling, Task, When, builtin};

/// About this many tokens of words that are not part of an identifier.
fn padding(tokens: usize) -> String {
    "lorem ipsum dolor sit amet ".repeat(tokens / 6 + 1)
}

fn message(n: usize, role: Role, blocks: Vec<Block>) -> Message {
    Message::new(format!("m{n}"), role, None, blocks)
}

fn text(text: String) -> Vec<Block> {
    vec![Block::Text { text }]
}

/// The text that only result k contains.
fn named(k: usize) -> String {
    let letters =
        format!("{}{}", char::from(b'a' + (k / 26) as u8), char::from(b'a' + (k % 26) as u8));
    format!("look into src/module_{k}/part_{k}.rs for zeb{letters}ra and quag{letters}ga")
}

/// Answers every task with the same text, billed as so many tokens.
struct Says {
    text: String,
    output: u64,
}

#[async_trait::async_trait]
impl Compactor for Says {
    async fn run(&self, _: &Task) -> Result<Reply, FailedCall> {
        let usage = CallUsage { input: 1_000, output: self.output };
        Ok(Reply::unmodelled(Produced::Continuation(self.text.clone()), usage, 100))
    }

    fn name(&self) -> &str {
        "says"
    }
}

fn says(text: impl Into<String>) -> Says {
    Says { text: text.into(), output: 100 }
}

/// A task, and then `requests` calls of a tool with results of some 1,000
/// tokens: result k names `src/module_k/part_k.rs`, and from request 12 on each
/// call reads the file that the result 10 requests before it named.
fn session(requests: usize) -> Session {
    reading_back(requests, 10)
}

/// A session like [`session`], in which a call reads the file that the result
/// `back` requests before it named.
fn reading_back(requests: usize, back: usize) -> Session {
    let mut messages = vec![message(0, Role::User, text("Please mend the build.".to_owned()))];
    let file = |k: usize| format!("src/module_{k}/part_{k}.rs");
    for k in 0..requests {
        let path = if k >= back + 2 { file(k - back) } else { "notes".to_owned() };
        let call = Block::ToolCall {
            id: format!("c{k}"),
            name: "Read".to_owned(),
            arguments: json!({"path": path}),
        };
        let said = Block::Text { text: format!("Step {k}.") };
        messages.push(message(messages.len(), Role::Assistant, vec![said, call]));
        let result = Block::ToolResult {
            call: format!("c{k}"),
            text: format!("{} {}", padding(1_000), named(k)),
            images: 0,
            is_error: false,
        };
        messages.push(message(messages.len(), Role::Tool, vec![result]));
    }
    Session { id: "s".to_owned(), messages, ..Session::default() }
}

fn prepared(session: Session, cuts: Cuts) -> PreparedSession {
    PreparedSession::with_cuts("d", session, Arc::new(Counter::default()), cuts, 1)
}

fn plan(name: &str) -> Plan {
    let billing_models =
        BillingModels::new(Arc::new(PriceList::bundled()), vec!["claude-sonnet-5-5".into()]);
    let strategy = Arc::new(builtin(name, &[]).unwrap().unwrap());
    Plan {
        billing_models: billing_models.of(None, &[]).into(),
        ..Plan::new(("d", "s"), strategy, ("native", 0))
    }
}

fn part(prepared: &PreparedSession, at: usize) -> CutSegment {
    let (place, facts) = &prepared.cuts[at];
    CutSegment::new(prepared, place, facts, &[])
}

async fn examined(
    part: &CutSegment,
    plan: &Plan,
    depth: u32,
    compactor: &dyn Compactor,
) -> CutExam {
    examine(part, plan, depth, compactor, &|_, _| ()).await.unwrap().exam
}

async fn exam(prepared: &PreparedSession, at: usize, name: &str, depth: u32) -> CutExam {
    examined(&part(prepared, at), &plan(name), depth, &EmptySummary).await
}

fn count(exam: &CutExam, state: ReferenceState) -> usize {
    exam.states.iter().filter(|own| **own == state).count()
}

/// A session whose provider reports every prompt: 9,000 tokens and 1,500 for each request,
/// less what it dropped when the user spoke after request 20, and then compacted.
fn reported(requests: usize) -> Session {
    let mut session = session(requests);
    let words = text("Go on with it, please.".to_owned());
    session.messages.insert(41, Message { id: "u".into(), ..message(0, Role::User, words) });
    let answers = session.messages.iter_mut().filter(|message| message.is_request());
    for (answers, message) in (0..).zip(answers) {
        let prompt = match answers {
            0..20 => 9_000 + 1_500 * answers,
            20..40 => 1_500 * answers - 3_000,
            _ => 1_500 * answers - 40_000,
        };
        let usage = Usage { input: prompt, output: 300, output_final: true, ..Usage::default() };
        message.usage = Some(usage);
    }
    // Request 40 is message 82.
    session.compactions = vec![RecordedCompaction {
        after: 82,
        kept_from: 70,
        summary: Some("It is nearly mended.".to_owned()),
        ..RecordedCompaction::default()
    }];
    session
}

/// Reference §0: the size of a cut is the prompt that the provider reported there.
#[tokio::test]
async fn cut_is_as_large_as_the_prompt_that_was_reported() {
    let counter = Arc::new(Counter::where_reported());
    let prepared = PreparedSession::with_cuts("d", reported(60), counter, Cuts::All, 1);
    let mut behind = 0;
    for (at, (place, facts)) in prepared.cuts.iter().enumerate() {
        let cut = part(&prepared, at).cut(place, facts);
        let request = &prepared.facts.requests[place.request as usize];
        assert_eq!(Some(cut.tokens_before), request.recorded.map(|usage| usage.prompt()));
        assert_eq!(exam(&prepared, at, "full", 1).await.tokens_after, cut.tokens_before);
        behind += usize::from(place.request >= 40);
    }
    assert!(prepared.cuts.len() > 30 && behind > 5, "{} and {behind}", prepared.cuts.len());
}

#[tokio::test]
async fn used_text_stated_only_before_cut_is_fact() {
    // The cut is before request 20: requests 20 to 29 read the files of results
    // 10 to 19, which are before the cut; request 30 reads the file of result
    // 20, which is after it.
    let prepared = prepared(session(40), Cuts::Spread(1));
    let (place, facts) = &prepared.cuts[0];
    assert_eq!((place.request, place.requests), (20, 20));
    let asked: Vec<_> = facts.iter().map(|f| (f.request, f.text.clone())).collect();
    let due = (20..30).map(|r| (r, format!("src/module_{0}/part_{0}.rs", r - 10)));
    assert_eq!(asked, due.collect::<Vec<_>>());
    // The result of request 10 is message 22; 18 messages follow it.
    assert_eq!(facts[0].last_seen, 22);
}

#[tokio::test]
async fn full_keeps_all_empty_nothing_at_every_depth() {
    let prepared = prepared(session(40), Cuts::Spread(3));
    for at in 0..prepared.cuts.len() {
        for depth in [1, 3] {
            let full = exam(&prepared, at, "full", depth).await;
            assert_eq!(count(&full, ReferenceState::Verbatim), full.states.len());
            let empty = exam(&prepared, at, "empty", depth).await;
            assert_eq!(count(&empty, ReferenceState::Lost), empty.states.len());
        }
    }
}

#[tokio::test]
async fn first_compaction_has_largest_window_that_triggers_it() {
    let prepared = prepared(session(40), Cuts::Spread(1));
    let cut = part(&prepared, 0).cut(&prepared.cuts[0].0, &prepared.cuts[0].1);
    let window = |name| exam(&prepared, 0, name, 1);
    // The sizes are 85 % of the window, 33,000 of 200,000 below it, and half of
    // 200,000.
    let tokens = cut.tokens_before as f64;
    for (name, share) in [
        ("fifo", 0.85),
        ("claude-code", 1.0 - 33_000.0 / 200_000.0),
        ("anthropic-context-editing", 0.5),
    ] {
        let window = window(name).await.window as f64;
        assert!((window - tokens / share).abs() <= 3.0, "{name}: {window}, {tokens}");
    }
    // A view has no trigger: the window is as large as the context.
    assert_eq!(window("sliding-window").await.window, cut.tokens_before);
}

#[tokio::test]
async fn greater_depth_divides_tokens_of_the_material() {
    let prepared = prepared(session(40), Cuts::Spread(1));
    let part = part(&prepared, 0);
    let sizes = &part.prepared.recording.sizes;
    let material: u64 = sizes.messages[..part.material as usize].iter().map(|w| w.tokens).sum();
    let exam = exam(&prepared, 0, "sliding-window", 3).await;
    assert_eq!(exam.window, sizes.preamble_tokens() + sizes.largest_output() + material / 3);
}

#[tokio::test]
async fn sliding_window_keeps_facts_in_its_last_messages() {
    // At request 20 + i the last twenty messages begin with call 10 + i, whose
    // result names the file that is read: it is just inside.
    let prepared = prepared(session(40), Cuts::Spread(1));
    let exam = exam(&prepared, 0, "sliding-window", 1).await;
    let kept = exam.states.iter().filter(|state| state.is_kept()).count();
    assert_eq!((kept, exam.states.len()), (10, 10), "{:?}", exam.states);
}

#[tokio::test]
async fn only_summary_naming_fact_with_words_carries_it() {
    let prepared = prepared(session(40), Cuts::Spread(1));
    let part = part(&prepared, 0);
    let summary = (10..20).map(|k| format!("{}. ", named(k))).collect::<String>();
    let plan = plan("claude-code");
    let own = examined(&part, &plan, 1, &says(summary)).await;
    assert_eq!(count(&own, ReferenceState::Carried), 10, "{:?}", own.states);
    let without_summary = examined(&part, &plan, 1, &EmptySummary).await;
    assert_eq!(count(&without_summary, ReferenceState::Lost), 10, "{:?}", without_summary.states);
    let bare = (10..20).map(|k| format!("src/module_{k}/part_{k}.rs ")).collect::<String>();
    let listed = examined(&part, &plan, 1, &says(bare)).await;
    assert_eq!(count(&listed, ReferenceState::Bare), 10, "{:?}", listed.states);
}

#[tokio::test]
async fn requests_over_window_keep_nothing_at_greater_depth() {
    // No call uses the seven tools of the strategy for games: nothing is
    // deduplicated.
    let prepared = prepared(session(40), Cuts::Spread(1));
    let first = exam(&prepared, 0, "snapshot-dedup-zoea", 1).await;
    assert_eq!((count(&first, ReferenceState::Verbatim), first.refused.len()), (10, 0));
    let deep = exam(&prepared, 0, "snapshot-dedup-zoea", 3).await;
    assert_eq!((count(&deep, ReferenceState::Lost), deep.refused.len()), (10, 10));
}

#[tokio::test]
async fn lost_fact_found_by_adjacent_words_is_recovered() {
    // Each call reads the file that the result 15 requests before it named: the
    // last twenty messages contain the ten newest results.
    let prepared = prepared(reading_back(40, 15), Cuts::Spread(1));
    let plain = exam(&prepared, 0, "sliding-window", 1).await;
    assert_eq!(count(&plain, ReferenceState::Lost), 15, "{:?}", plain.states);
    let searching = exam(&prepared, 0, "sliding-window-search", 1).await;
    assert_eq!(count(&searching, ReferenceState::Recovered), 15, "{:?}", searching.states);
}

#[tokio::test]
async fn recorded_compaction_is_examined_with_what_preceded_it() {
    let mut session = session(40);
    // After request 20 the agent folded everything into a summary that names
    // one of the files.
    session.compactions = vec![RecordedCompaction {
        after: 41,
        kept_from: 41,
        summary: Some(named(12)),
        ..RecordedCompaction::default()
    }];
    let prepared = prepared(session, Cuts::Recorded);
    assert_eq!(prepared.cuts.len(), 1);
    let place = &prepared.cuts[0].0;
    assert_eq!((place.request, place.from, place.material.len()), (20, 41, 41));
    let recorded = exam(&prepared, 0, "recorded", 1).await;
    assert_eq!(count(&recorded, ReferenceState::Carried), 1, "{:?}", recorded.states);
    let full = exam(&prepared, 0, "full", 1).await;
    assert_eq!(count(&full, ReferenceState::Verbatim), 10);
}

/// A session of 40 requests whose agent compacted after message 21 and kept those from 15 on.
fn compacted_at_21() -> Session {
    let mut session = session(40);
    session.compactions = vec![RecordedCompaction {
        after: 21,
        kept_from: 15,
        summary: Some("so far".to_owned()),
        ..RecordedCompaction::default()
    }];
    session
}

#[tokio::test]
async fn snapshot_uses_message_numbers_of_whole_session() {
    let prepared = prepared(compacted_at_21(), Cuts::Spread(1));
    // The first cut is where the agent compacted.
    let part = part(&prepared, 1);
    let (place, _) = &prepared.cuts[1];
    // Message 15 is a call, which is kept with its result.
    assert_eq!(place.material[0].message, 15);
    let parts = vec![recap_core::model::SnapshotPart::Messages { from: 0, to: 3 }];
    let snapshot = Snapshot { request: 0, tokens: 9, overflow: false, compactions: 0, parts };
    let whole = part.whole(snapshot, &mut BTreeMap::new());
    assert_eq!(whole.parts, [recap_core::model::SnapshotPart::Messages { from: 15, to: 18 }]);
    assert_eq!(whole.request, place.request);
}

#[test]
fn fact_distance_counts_messages_from_its_last_source() {
    let prepared = prepared(session(40), Cuts::Spread(1));
    let part = part(&prepared, 0);
    let (place, facts) = &prepared.cuts[0];
    let cut = part.cut(place, facts);
    let sizes = &prepared.recording.sizes.messages;
    assert!(!cut.facts.is_empty());
    for fact in &cut.facts {
        // The material is the session up to the cut, whole.
        let behind = sizes[fact.last_seen as usize..place.from as usize].iter();
        assert_eq!(fact.newest_tokens, behind.map(|weight| weight.tokens).sum::<u64>());
    }
}

#[test]
fn only_size_triggers_after_start_can_be_forced() {
    let mut strategy = builtin("claude-code", &[]).unwrap().unwrap();
    strategy.stages.truncate(1);
    for (at, when, may) in [
        (At::Request, When::Messages(9), true),
        (At::Request, When::ToolTokens(9), true),
        (At::Request, When::AboveReserve { reserve: 9 }, true),
        (At::Open, When::Messages(9), false),
        (At::Request, When::Recorded, false),
        (At::Request, When::Idle { minutes: 9 }, false),
    ] {
        (strategy.stages[0].at, strategy.stages[0].when) = (at, when);
        let expected = if may { vec![0] } else { Vec::new() };
        assert_eq!(forceable(&strategy), expected, "{:?}", strategy.stages[0].when);
    }
}

#[test]
fn facts_of_cut_count_from_beginning_of_material() {
    let prepared = prepared(compacted_at_21(), Cuts::Spread(1));
    let part = part(&prepared, 1);
    let (place, facts) = &prepared.cuts[1];
    // The material begins with message 15, the call of request 7.
    assert_eq!((place.request, part.first), (20, 13));
    assert_eq!((part.request_of(13), part.request_of(17)), (20, 24));
    let own = part.prepared.facts.exam.references.iter();
    let own: Vec<_> = own.map(|fact| (fact.request + 7, fact.last_seen + 15)).collect();
    let whole: Vec<_> = facts.iter().map(|fact| (fact.request, fact.last_seen)).collect();
    assert!(!own.is_empty());
    assert_eq!(own, whole);
}

#[tokio::test]
async fn every_request_after_cut_is_inspected_once() {
    let prepared = prepared(session(40), Cuts::Spread(1));
    let seen = std::sync::Mutex::new(Vec::new());
    let look = |request: u32, _: &Context| seen.lock().unwrap().push(request);
    let part = part(&prepared, 0);
    examine(&part, &plan("full"), 1, &EmptySummary, &look).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), (20..40).collect::<Vec<u32>>());
}

#[tokio::test]
async fn session_waits_at_cut_for_foreground_calls() {
    let prepared = prepared(session(40), Cuts::Spread(1));
    let part = part(&prepared, 0);
    let none = examined(&part, &plan("full"), 1, &says("All is well.")).await;
    assert_eq!((none.compactions, none.blocking_ms), (0, None));
    let one = examined(&part, &plan("claude-code"), 1, &says("All is well.")).await;
    assert_eq!(one.compactions, 1);
    assert!(one.blocking_ms > Some(0.0), "{:?}", one.blocking_ms);
}

/// Dollars of the compactor at depth 3 whose replies have this many tokens, and the
/// number of compactions before the cut.
async fn deep(prepared: &PreparedSession, output: u64) -> (f64, u32) {
    let says = Says { output, ..says("So far.") };
    let exam = examined(&part(prepared, 0), &plan("claude-code"), 3, &says).await;
    (exam.compactor_usd.unwrap(), exam.compactions)
}

#[tokio::test]
async fn cut_pays_for_calls_that_led_to_it() {
    let prepared = prepared(session(40), Cuts::Spread(1));
    let ((short, before), (long, again)) =
        (deep(&prepared, 100).await, deep(&prepared, 2_100).await);
    assert_eq!(before, again);
    // 2,000 more output tokens for each call; those after the cut are not counted.
    let mut own = plan("claude-code");
    let prices = own.billing_models[0].prices.as_ref().unwrap();
    let at = prepared.facts.requests[0].at;
    let more = prices.request_usd(&recap_core::model::Buckets::default(), 2_000, at).unwrap();
    let led = (long - short) / more;
    assert!((led - f64::from(before)).abs() < 1e-6, "{led} {before}");
    let usd = async |plan: &Plan| {
        examined(&part(&prepared, 0), plan, 1, &says("So far.")).await.compactor_usd
    };
    assert_eq!(usd(&plan("full")).await, Some(0.0));
    let billing_models = own.billing_models.clone();
    let mut unpriced = billing_models[0].clone();
    unpriced.prices = None;
    own.billing_models = [unpriced].into();
    assert_eq!(usd(&own).await, None);
    own.billing_models = [].into();
    assert_eq!(usd(&own).await, None, "nobody is billed");
}

#[tokio::test]
async fn nobody_waits_at_cut_for_background_call() {
    let prepared = prepared(session(40), Cuts::Spread(1));
    let mut plan = plan("claude-code");
    for stage in &mut Arc::make_mut(&mut plan.strategy).stages {
        stage.background = true;
    }
    let exam = examined(&part(&prepared, 0), &plan, 1, &says("All is well.")).await;
    assert_eq!((exam.compactions, exam.blocking_ms), (1, None));
    assert_eq!(exam.latency_source, Some(recap_core::model::LatencySource::Modelled));
}

#[tokio::test]
async fn without_summary_is_refused_alike_without_counting_replies() {
    let prepared = prepared(session(40), Cuts::Spread(1));
    let part = part(&prepared, 0);
    let without_summary = format!("{NO_SUMMARY}snapshot-dedup-zoea");
    // Only other controls may send more than the window.
    for (name, control, refused) in
        [("s", false, 10), ("s", true, 0), (without_summary.as_str(), true, 10)]
    {
        let mut plan = plan("snapshot-dedup-zoea");
        plan.key.strategy = name.to_owned();
        Arc::make_mut(&mut plan.strategy).control = control;
        let exam = examined(&part, &plan, 3, &EmptySummary).await;
        assert_eq!(exam.refused.len(), refused, "{name} {control}");
    }
    for (name, replies) in [("s", 1), (without_summary.as_str(), 0)] {
        let mut plan = plan("claude-code");
        plan.key.strategy = name.to_owned();
        let exam = examined(&part, &plan, 1, &says("All is well.")).await;
        assert_eq!(exam.replies.len(), replies, "{name}");
    }
}

#[test]
fn largest_triggering_window_is_exact_to_the_token() {
    use recap_strategy::Of;
    let mut strategy = builtin("claude-code", &[]).unwrap().unwrap();
    let above = |share, and_over| When::Above { of: Of::Window, share, and_over, at_most: None };
    for (when, tokens, window) in [
        // Half of 1,999, rounded down, is 999; half of 2,000 is not exceeded.
        (above(0.5, 0), 1_000, 1_999),
        (above(0.25, 700), 1_000, 3_999),
        (above(0.5, 1_000), 1_000, 1_000),
        (above(0.0, 0), 1_000, 1_000),
        (When::AboveReserve { reserve: 300 }, 1_000, 1_299),
        (When::Messages(3), 700, 700),
    ] {
        strategy.stages[0].when = when.clone();
        assert_eq!(super::window(&strategy, 0, Scaling::AsWritten, tokens), window, "{when:?}");
    }
}

#[tokio::test]
async fn last_material_request_is_what_provider_reported() {
    let prepared = prepared(session(40), Cuts::Spread(1));
    let (part, plan) = (part(&prepared, 0), Plan { window: 1_000_000, ..plan("full") });
    let mut session = opened(&part, &plan, &EmptySummary).unwrap();
    session.arrive_uncompacted(part.material).await.unwrap();
    // Request 19 is answered by message 39.
    let sizes = &part.prepared.recording.sizes;
    let sent: u64 = sizes.messages[..39].iter().map(|weight| weight.tokens).sum();
    let row = session.requests.last().unwrap();
    assert_eq!((row.tokens_sent, row.messages), (sizes.preamble_tokens() + sent, 39));
    assert!(row.valid && !row.overflow && !row.cache_break);
    let reported = session.reported.unwrap();
    assert_eq!((reported.input, reported.output), (row.tokens_sent, sizes.output[39]));
    assert_eq!(session.reported_through, 39);
    // Earlier requests were not sent and cost nothing.
    let (rows, ..) = session.finish();
    let billed = rows.bills[0].requests.iter().map(Option::is_some);
    assert_eq!(billed.collect::<Vec<_>>(), [vec![false; 19], vec![true]].concat());
}

#[tokio::test]
async fn words_are_searched_for_in_their_original_spelling() {
    let mut session = reading_back(40, 15);
    for block in session.messages.iter_mut().flat_map(|message| &mut message.blocks) {
        if let Block::ToolResult { text, .. } = block {
            *text = text.replace("for zeb", "for Zeb").replace("quag", "QuAg");
        }
    }
    let prepared = prepared(session, Cuts::Spread(1));
    let searching = exam(&prepared, 0, "sliding-window-search", 1).await;
    assert_eq!(count(&searching, ReferenceState::Recovered), 15, "{:?}", searching.states);
}
