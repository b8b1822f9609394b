//! What a bill takes from the recording's cache and from compactions, block by
//! block.

use super::super::session::ReplaySession;
use super::super::subject::Subject;
use super::*;
use crate::model::{Block, CellKey, Message, Role, Transcript};
use crate::prompt_cache::Anthropic;
use crate::seats::compactor::Null;
use crate::strategy::builtin;
use crate::tokens::Counter;

/// Messages of one token each, by turns, a minute apart.
fn turns(messages: usize) -> Transcript {
    let message = |at: usize| Message {
        id: format!("m{at}"),
        role: if at.is_multiple_of(2) { Role::User } else { Role::Assistant },
        at: Some(minute(at as i64)),
        blocks: vec![Block::Text { text: "word".to_owned() }],
        usage: None,
        synthetic: false,
        broadcast: false,
    };
    let messages = (0..messages).map(message).collect();
    Transcript { id: "s".to_owned(), messages, ..Transcript::default() }
}

fn minute(minute: i64) -> Timestamp {
    Timestamp::from_second(60 * minute).unwrap()
}

fn subject(messages: usize) -> Subject {
    Subject::new("d", turns(messages), Arc::new(Counter::default()))
}

fn plan(preset: &str, keys: &[(&str, &str)]) -> Plan {
    let keys: Vec<_> = keys.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Plan {
        key: CellKey {
            dataset: "d".into(),
            transcript: "s".into(),
            strategy: preset.into(),
            window: "1000".into(),
            replicate: 0,
        },
        preset: Arc::new(builtin(preset, &keys).unwrap().unwrap()),
        window: 1_000,
        scaled: true,
        seed: 1,
        offline: true,
        agents: Arc::new([]),
        compactor: None,
    }
}

/// A prompt of a system prompt, 20 hidden tokens that survive a restart, 30 that
/// do not, and three messages; and the context that it is of.
fn sent() -> (Sent, u64) {
    let mut recording = subject(3).recording.clone();
    Arc::make_mut(&mut recording.sizes).hidden_tokens = 50;
    let mut context = Context::new(recording);
    (0..3).for_each(|_| context.append());
    let mut sent = Sent::new(Some(20));
    sent.look(&mut context);
    let places =
        sent.places(&context, &[Breakpoint::Preamble, Breakpoint::Head, Breakpoint::Newest], None);
    sent.mark(&places, Life::Minutes5);
    let tokens = sent.prompt().tokens();
    (sent, tokens)
}

/// Measures §2: what the recording's cache held is what each event leaves.
#[test]
fn a_restart_leaves_the_base_a_primed_cache_the_head_and_a_cold_one_nothing() {
    let (sent, all) = sent();
    assert_eq!(all, 53, "20 and 30 hidden tokens, and three messages of one");
    let mut request = subject(3).facts.requests[0];
    request.at = minute(3);
    let mut read_after = |exogenous, at: Timestamp| {
        let mut cache = Anthropic::new(0);
        cache.request(sent.prompt(), at);
        request.exogenous = exogenous;
        apply_cache_event(&mut cache, &sent, &request);
        cache.request(sent.prompt(), request.at).read
    };
    let before = minute(2);
    assert_eq!(read_after(None, before), 53);
    assert_eq!(read_after(Some(Exogenous::Cold), before), 0);
    assert_eq!(read_after(Some(Exogenous::Restart), before), 20);
    assert_eq!(read_after(Some(Exogenous::Primed), before), 50);
    // Entries made until then are still there, later ones are forgotten.
    assert_eq!(read_after(Some(Exogenous::Former { at: before }), before), 53);
    assert_eq!(read_after(Some(Exogenous::Former { at: minute(1) }), before), 0);
    // Ten minutes later the entry has expired, unless it was renewed.
    assert_eq!(read_after(None, minute(-7)), 0);
    assert_eq!(read_after(Some(Exogenous::Renewed), minute(-7)), 53);
}

/// Measures §2, rewritten tokens: what the last prompt held and a broken prefix
/// makes the provider read in full, at a warm cache only: a cold one would have
/// taken it in full anyway.
#[test]
fn tokens_are_rewritten_where_a_warm_prefix_broke() {
    let subject = subject(2);
    let mut plan = plan("full", &[]);
    let agent =
        Agent { billed_as: "a".into(), model: "a".into(), prices: None, others: Vec::new() };
    plan.agents = Arc::new([agent]);
    let rewritten = |state, broken, carried| {
        let mut biller = Biller::new(&plan, &subject.facts);
        let payer = &mut biller.payers[0];
        payer.cache_states.push(state);
        let billed = Buckets { read: 10, write: 60, ..Buckets::default() };
        let prompt = PromptBill { billed, ..PromptBill::default() };
        let step = Step { common_prefix: 10, broken, carried };
        payer.keep(Some(RequestBill { prompt, rewritten: 0, model: 0 }), &step);
        payer.bill.requests[0].as_ref().unwrap().rewritten
    };
    assert_eq!(rewritten(CacheState::Warm, true, 50), 40);
    assert_eq!(rewritten(CacheState::Warm, false, 50), 0, "the prefix only grew");
    assert_eq!(rewritten(CacheState::Cold { read: 10 }, true, 50), 0);
    assert_eq!(rewritten(CacheState::Warm, true, 5), 0, "nothing carried was read in full");
}

/// Measures §2, break-even: a view hides again what it hid before, so that
/// without it the last prompt and the messages since would have been sent.
#[tokio::test]
async fn the_prompt_before_a_view_is_the_last_prompt_and_what_arrived_since() {
    let before = |preset: &'static str, keys: &'static [(&str, &str)]| async move {
        let (subject, plan) = (subject(8), plan(preset, keys));
        let mut session = ReplaySession::open(&subject, &plan, &Null).unwrap();
        assert!(session.run_to_request(3).await.unwrap());
        let compacted = session.biller.compacted.iter();
        compacted.map(|c| (c.request, c.before, c.after)).collect::<Vec<_>>()
    };
    // Requests see 1, 3, 5 and 7 messages; two are sent. The first time the view
    // hides one of 1 + 2; then two of the 2 that were sent and the 2 that came.
    let found = before("sliding-window", &[("last", "2")]).await;
    assert_eq!(found, [(1, 3, 2), (2, 4, 2), (3, 4, 2)]);
}

#[test]
fn entries_live_for_an_hour_if_most_of_what_was_written_was_written_for_one() {
    let written = |five: u64, hour: u64| {
        let mut request = subject(2).facts.requests[0];
        request.recorded = Some(crate::model::Usage {
            cache_write_5m: five,
            cache_write_1h: hour,
            ..crate::model::Usage::default()
        });
        life(&[request])
    };
    assert_eq!(written(10, 11), Life::Hour);
    assert_eq!(written(10, 10), Life::Minutes5);
    assert_eq!(written(0, 0), Life::Minutes5);
}

#[test]
fn a_request_of_the_whole_conversation_has_the_prompt_in_force_and_all_before_it() {
    let mut transcript = turns(6);
    transcript.preamble.system = vec!["word".to_owned()];
    let system = vec!["word word word".to_owned()];
    transcript.preamble_changes = vec![crate::model::PreambleChange { before: 2, system }];
    let facts = Subject::new("d", transcript, Arc::new(Counter::default())).facts;
    let full: Vec<u64> = facts.requests.iter().map(|request| request.tokens_full).collect();
    // 1 + 1, 3 + 3 and 3 + 5.
    assert_eq!(full, [2, 6, 8]);
}
