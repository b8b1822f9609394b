//! Seed 000 (Arachne) as a whole: the strategy `arachne`, its two thresholds in
//! one session, its saved state.
//! Each test names its sentence.
//!
//! Where strategies depart from it:
//!
//! - `fifo`: looked at before every request instead of once per user message: agents make many
//!   requests in a turn, and as a mechanism of its own it has no other net.
//! - `fifo`, and the hard FIFO of `arachne`, `session-state`, `session-state-system`: a call
//!   leaves with its results, and the newest message stays even where it is too large.
//! - `arachne`, `session-state`: in the middle of an agent's turn the pair has no "Understood.":
//!   the assistant's message behind it would be the second in a row.
//! - `session-state`: looked at before every request, like `fifo`; `arachne` keeps to once per
//!   user message.
//! - `arachne`, `session-state`: 70, 60 and 85 % are shares of the window; the other reading,
//!   shares of the 85 % budget, is a switch in the file.
//! - `session-state`: the awareness block is 115 tokens, not about 50: the design's own text is
//!   that long.

use crate::common;
use std::sync::Arc;

use crate::common::talk::{Talk, at_last, even, from_disk, real};
use crate::common::{block_on, offline, prepared};
use recap_billing::pricing::{BillingModel, PriceList};
use recap_core::model::{CellOutcome, CellRows, Session, ToolDefinition};
use recap_core::tokens::Counter;
use recap_replay::{Plan, replay};
use recap_strategy::EntryId;
use serde_json::Value as Json;

const WINDOW: u64 = 10_000;

/// So many turns of 500 tokens each, a question and an answer by turns.
fn chat(turns: usize) -> Talk {
    (0..turns / 2).fold(Talk::new("sys"), |talk, _| talk.user(500).says(500))
}

fn rows(session: &Session, plan: &Plan) -> CellRows {
    let compactor = offline();
    match block_on(replay(&prepared(session.clone()), plan, &compactor)).cell.outcome {
        CellOutcome::Done(rows) => *rows,
        CellOutcome::Failed { error } => panic!("{error}"),
    }
}

/// The conversation's columns at the last request.
fn columns(session: &Session) -> Json {
    at_last(session, &real("arachne", WINDOW, &[]), |replay| {
        let [file] = &replay.stored()[..] else { panic!("one conversation, one file") };
        assert_eq!(file.path, "conversations/talk.json");
        serde_json::from_slice(&file.content).unwrap()
    })
}

/// Seed 000: jump from <70% to >85%: compression runs synchronously before the call, no message
/// loss
#[test]
fn jump_from_70_to_85_percent_only_folds() {
    // 12 turns are 6,000 tokens; the next user message brings 4,000 at once.
    let talk = chat(12).user(4_000).says(1).user(1).says(1).end();
    let rows = rows(&talk, &real("arachne", WINDOW, &[]));
    let stages: Vec<&str> = rows.compactions.iter().map(|row| &*row.mechanism).collect();
    assert_eq!(stages, ["session-state"]);
    assert_eq!(rows.compactions[0].messages_evicted, 0);
    assert!(rows.requests.iter().all(|request| !request.overflow));
}

/// Seed 000: "User sends message", optimize_context_window()
#[test]
fn runs_once_per_user_message_not_per_request() {
    // One turn of an agent: 9,000 tokens of results behind one user message.
    let talk = chat(4).uses("read", &[1_500; 4]).close();
    let rows = rows(&talk, &real("arachne", WINDOW, &[]));
    assert_eq!(rows.compactions.len(), 1, "at the user message behind the turn");
    let agent = self::rows(&talk, &real("session-state", WINDOW, &[]));
    assert!(agent.compactions[0].request < rows.compactions[0].request);
}

/// Seed 000: very first message: compressed_state stays null
#[test]
fn the_state_is_null_before_the_first_fold() {
    let columns = columns(&chat(4).close());
    assert_eq!(
        columns,
        serde_json::json!({
            "compressed_state": null,
            "compressed_at_message_id": null,
        })
    );
}

/// Seed 000: columns compressed_state and compressed_at_message_id
#[test]
fn two_columns_hold_state_and_last_covered_message() {
    let talk = chat(20).close();
    let columns = columns(&talk);
    let state = &columns["compressed_state"];
    for field in ["logos", "pathos", "abstract"] {
        assert!(state[field].is_array(), "{field}");
    }
    assert!(state["conversation_summary"].is_string());
    let boundary = columns["compressed_at_message_id"].as_str().unwrap();
    let folded = at_last(&talk, &real("arachne", WINDOW, &[]), common::ledger);
    let last = folded.rfind('F').unwrap();
    assert_eq!(boundary, talk.messages[last].id);
}

/// Seed 000: original messages remain untouched in the DB
#[test]
fn original_messages_remain_untouched() {
    let talk = chat(20).close();
    at_last(&talk, &real("arachne", WINDOW, &[]), |session| {
        let context = session.context();
        let ledger = common::ledger(session);
        assert!(ledger.starts_with("FF") && !ledger.contains('E'), "folded, not edited: {ledger}");
        // What was folded can still be read, word for word.
        for (at, message) in talk.messages.iter().enumerate().take(ledger.len()) {
            let id = EntryId::message(at as u32);
            assert_eq!(context.original(id), Some(message));
            assert_eq!(context.contains(id), ledger.as_bytes()[at] == b'V', "m{at} of {ledger}");
        }
    });
}

/// Seed 000: CachedContent: system prompt + awareness block, tool definitions; the SessionState
/// lives in the message history and is paid at full price every request
#[test]
fn cached_content_is_prompt_awareness_block_and_tools_alone() {
    let mut talk = chat(26).close();
    talk.preamble.system = vec![even(4_000)];
    talk.preamble.tools = vec![ToolDefinition {
        name: "read".into(),
        description: even(200),
        parameters: serde_json::json!({"type": "object"}),
    }];
    let talk = from_disk(talk);
    // Without a strategy the first request is the system prompt, the tools and
    // the 500 tokens of the user.
    let bare = rows(&talk, &real("full", 2 * WINDOW, &[])).requests[0].tokens_sent - 500;
    assert!(bare > 4_200, "{bare}");
    let awareness = include_str!("../../strategies/prompts/session-state-awareness.md").trim();
    let content = bare + Counter::default().count(awareness);

    let prices = PriceList::bundled().find("gemini-3.8-flash").unwrap().clone();
    let model = prices.id.clone();
    let prices = Some(Arc::new(prices));
    let mut plan = real("arachne", 2 * WINDOW, &[]);
    plan.billing_models =
        Arc::new([BillingModel { billed_as: model.clone(), model, prices, others: Vec::new() }]);
    let rows = rows(&talk, &plan);
    let folds = rows.compactions.iter().filter(|row| row.messages_folded > 0).count();
    assert!(folds > 0, "a state is in the history");
    let billed: Vec<_> =
        rows.bills[0].requests.iter().map(|r| r.as_ref().unwrap().prompt.billed).collect();
    // Created by the first request and kept for an hour; read by all others.
    let stored: Vec<u64> = billed.iter().map(|b| b.stored_token_seconds).collect();
    assert_eq!(stored[0], 3_600 * content);
    assert!(stored[1..].iter().all(|&stored| stored == 0), "{stored:?}");
    for (billed, request) in billed.iter().zip(rows.requests.iter()).skip(1) {
        assert_eq!((billed.read, billed.uncached), (content, request.tokens_sent - content));
    }
}
