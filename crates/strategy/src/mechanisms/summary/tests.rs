//! The mechanism `summary`, parameter by parameter. What an agent makes of them
//! is in `tests/suite/agents.rs`.

use std::sync::Arc;

use serde_json::json;

use crate::compactor::{Asked, Task};
use crate::testkit::{OffShape, Rig, Scripted, Talk, words};
use recap_core::model::Role;

const STAGE: &str =
    "[[stage]]\nmechanism = \"summary\"\nat = \"request\"\nprompt = \"first\"\nmax_tokens = 50\n";

/// The stage once, where the window of 1,000 is full to a tenth.
fn stage(parameters: &str) -> String {
    format!("{STAGE}when = {{ above = \"window\", share = 0.1 }}\n{parameters}")
}

fn rig(parameters: &str, talk: Talk, compactor: &Arc<Scripted>) -> Rig {
    Rig::stages(&stage(parameters), 1_000, talk, Arc::<Scripted>::clone(compactor))
}

/// Feeds everything, then sends one request.
fn at_once(parameters: &str, talk: Talk) -> Rig {
    // All messages there are come before the first request: no response asks for one.
    let mut rig = rig(parameters, talk, &Scripted::failing_at([]));
    let count = rig.context.recording().session.messages.len() as u32;
    rig.append(count);
    rig.request();
    rig
}

/// The user and the agent by turns, 30 tokens each, the user first.
fn turns(count: usize) -> Talk {
    (0..count).fold(Talk::new("S"), |talk, at| {
        if at % 2 == 0 { talk.user(&words(30)) } else { talk.assistant(&words(30)) }
    })
}

/// One user message, then calls with results of 30 tokens.
fn reads(count: usize) -> Talk {
    (0..count).fold(Talk::new("S").user(&words(30)), |talk, at| {
        let id = format!("c{at}");
        talk.calls(&[(&id, "read", json!({}))]).result(&id, &words(30))
    })
}

fn texts(rig: &Rig) -> Vec<String> {
    rig.sent().into_iter().map(|(_, text)| text).collect()
}

const FRESH: &str = "request = \"fresh\"\n";

fn fresh(parameters: &str) -> String {
    format!("{FRESH}{parameters}")
}

#[test]
fn without_a_tail_everything_becomes_the_summary() {
    let rig = at_once(FRESH, turns(6));
    assert_eq!(rig.ledger(), "ffffff");
    let summary = "[Conversation summary]\n\ncontinuation 0".to_owned();
    assert_eq!(rig.sent(), [(Role::User, summary)]);
    assert_eq!(rig.shared.boundary, Some(5));
}

#[test]
fn token_tail_never_exceeds_its_limit() {
    let keep = |tokens: u32| at_once(&fresh(&format!("keep = {{ tokens = {tokens} }}")), turns(6));
    assert_eq!(keep(60).ledger(), "ffffvv");
    assert_eq!(keep(59).ledger(), "fffffv");
    assert_eq!(keep(29).ledger(), "ffffff");
}

#[test]
fn tail_starting_with_result_begins_after_it() {
    // A call takes a few tokens: 30 and the results alone would fit.
    let rig = at_once(&fresh("keep = { tokens = 60 }"), reads(4));
    assert_eq!(rig.ledger(), "fffffffvv");
}

#[test]
fn share_is_of_window_budget_or_messages_bounded() {
    let keep = |keep: &str| {
        let parameters = fresh(&format!("keep = {{ {keep} }}"));
        at_once(&parameters, turns(10)).ledger()
    };
    assert_eq!(keep("share = 0.09, of = \"window\""), "fffffffvvv");
    assert_eq!(keep("share = 0.2, of = \"messages\""), "ffffffffvv");
    assert_eq!(keep("share = 0.09, of = \"budget\""), "fffffffvvv");
    assert_eq!(keep("share = 0.09, of = \"window\", at_most = 60"), "ffffffffvv");
    assert_eq!(keep("share = 0.01, of = \"window\", at_least = 60"), "ffffffffvv");
}

#[test]
fn tail_fills_target_left_by_preamble_and_summary() {
    // Of 150, one is the system prompt, and 50 may be the summary: 99 are left.
    let to = "keep = { to = \"target\" }\ntarget = { of = \"window\", share = ";
    let stage = |share: f64| {
        let when = "when = { above = \"window\", share = 0.2 }";
        let stage = format!("{STAGE}{FRESH}{when}\n{to}{share} }}");
        let mut rig = Rig::stages(&stage, 1_000, turns(10), Scripted::failing_at([]));
        rig.append(10);
        rig.request();
        rig.ledger()
    };
    assert_eq!(stage(0.15), "fffffffvvv");
    assert_eq!(stage(0.142), "fffffffvvv");
    assert_eq!(stage(0.14), "ffffffffvv");
}

#[test]
fn user_turn_tail_begins_at_next_fitting_turn() {
    // 90 tokens would begin at row 7, the agent's.
    let keep = "keep = { tokens = 90, from = \"user-turn\" }";
    assert_eq!(at_once(&fresh(keep), turns(10)).ledger(), "ffffffffvv");
}

#[test]
fn without_short_user_turn_newest_or_nothing_stays() {
    let keep = fresh("keep = { tokens = 40, from = \"user-turn\" }");
    // The agent's last word: all of it is folded.
    assert_eq!(at_once(&keep, turns(4)).ledger(), "ffff");
    // A turn that goes on stays whole.
    let going_on =
        || turns(4).user("go").calls(&[("a", "read", json!({}))]).result("a", &words(50));
    assert_eq!(at_once(&keep, going_on()).ledger(), "ffffvvv");
    // A session of one turn is left alone.
    assert_eq!(at_once(&keep, reads(4)).ledger(), "vvvvvvvvv");
}

#[test]
fn counted_tail_moves_back_to_its_call() {
    let keep =
        |keep: &str, talk: Talk| at_once(&fresh(&format!("keep = {{ {keep} }}")), talk).ledger();
    assert_eq!(keep("messages = 2", turns(6)), "ffffvv");
    assert_eq!(keep("messages = 3", reads(4)), "fffffvvvv");
    assert_eq!(keep("responses = 2", reads(4)), "fffffvvvv");
    assert_eq!(keep("responses = 2", turns(6)), "fffvvv");
    assert_eq!(keep("turns = 2", turns(6)), "ffvvvv");
    assert_eq!(keep("turns = 9", turns(6)), "vvvvvv", "there are only three");
}

#[test]
fn first_messages_stay_and_summary_follows_them() {
    let rig = at_once(&fresh("keep_first = 1\nkeep = { messages = 2 }"), turns(6));
    assert_eq!(rig.ledger(), "vfffvv");
    assert!(texts(&rig)[1].starts_with("[Conversation summary]"));
}

#[test]
fn newest_user_words_precede_summary_with_overlong_clipped() {
    // 30 + 30 fit into 70; of the third, ten tokens: forty characters.
    let talk = turns(6).calls(&[("a", "read", json!({}))]).result("a", "out");
    let rig = at_once(&fresh("keep_user_messages = 70"), talk);
    assert_eq!(rig.ledger(), "ffvfvfff");
    let sent = rig.sent();
    let ends = format!("{}\n[…]\n{}", words(4), words(4));
    assert_eq!(sent[0], (Role::User, ends));
    assert_eq!(sent[1], (Role::User, words(30)));
    assert_eq!(sent[3].1, "[Conversation summary]\n\ncontinuation 0");
    assert_eq!(sent.len(), 4);
}

#[test]
fn user_message_after_last_fold_follows_summary() {
    let rig = at_once(&fresh("keep_user_messages = 30"), turns(5));
    assert_eq!(rig.ledger(), "ffffv");
    assert_eq!(texts(&rig), ["[Conversation summary]\n\ncontinuation 0".to_owned(), words(30)]);
}

#[test]
fn nothing_happens_before_enough_responses_are_old() {
    let parameters = fresh("keep = { responses = 1 }\nfold_responses = 3");
    assert_eq!(at_once(&parameters, turns(6)).ledger(), "vvvvvv");
    assert_eq!(at_once(&parameters, turns(8)).ledger(), "fffffffv");
}

#[test]
fn nothing_happens_when_only_a_summary_is_old() {
    let compactor = Scripted::failing_at([]);
    let mut rig = rig(&fresh("keep = { messages = 4 }"), turns(6), &compactor);
    rig.append(6);
    rig.request();
    rig.request();
    assert_eq!(rig.ledger(), "ffvvvv");
    assert_eq!(compactor.tasks().len(), 1);
}

/// The tasks of two compactions, of rows 0 to 5 and of what came then.
fn tasks(parameters: &str) -> Vec<Task> {
    let compactor = Scripted::failing_at([]);
    let mut rig = rig(parameters, turns(12), &compactor);
    rig.append(6);
    rig.request();
    rig.append(6);
    rig.request();
    compactor.tasks()
}

fn shown(task: &Task) -> (String, Vec<String>) {
    let Task { prompt, messages, .. } = task;
    (prompt.clone(), messages.iter().map(|message| message.text.to_string()).collect())
}

#[test]
fn current_summary_leads_next_call_with_update_prompt() {
    let tasks = tasks(&fresh("update_prompt = \"second\""));
    let ((first, _), (second, messages)) = (shown(&tasks[0]), shown(&tasks[1]));
    assert!(first.starts_with("first:") && second.starts_with("second:"));
    assert_eq!(messages.len(), 7);
    assert_eq!(messages[0], "[Conversation summary]\n\ncontinuation 0");
    // Without a prompt of its own the first one is taken again.
    assert!(shown(&self::tasks(FRESH)[1]).0.starts_with("first:"));
}

#[test]
fn sections_merge_from_summary_of_new_messages_alone() {
    let parameters = fresh("merge = \"sections\"\nmax_summary = 90");
    let (_, messages) = shown(&tasks(&parameters)[1]);
    assert_eq!(messages, vec![words(30); 6]);
    let mut rig = rig(&parameters, turns(12), &Scripted::failing_at([]));
    for _ in 0..2 {
        rig.append(6);
        rig.request();
    }
    assert_eq!(texts(&rig), ["[Conversation summary]\n\ncontinuation 0\ncontinuation 1"]);
}

#[test]
fn call_is_appended_to_live_conversation_or_alone() {
    let live = |parameters: &str| match &tasks(parameters)[0] {
        Task { max_tokens, asked: Asked::Continuation { live, headings }, .. } => {
            assert_eq!(headings[..], ["Goal", "Files modified"]);
            assert_eq!(*max_tokens, 50);
            live.as_ref().map(|live| live.tokens)
        }
        _ => None,
    };
    assert_eq!(live(FRESH), None);
    // One token of system prompt and six times 30.
    assert_eq!(live("request = \"prefix\""), Some(181));
}

#[test]
fn second_call_checks_draft_against_same_messages() {
    let compactor = Scripted::failing_at([]);
    let mut rig = rig(&fresh("check_prompt = \"check\""), turns(6), &compactor);
    rig.append(6);
    rig.request();
    let tasks = compactor.tasks();
    let ((_, messages), (prompt, again)) = (shown(&tasks[0]), shown(&tasks[1]));
    assert_eq!(tasks.len(), 2);
    assert!(prompt.starts_with("check: continuation 0"), "{prompt}");
    assert_eq!(messages, again);
    assert_eq!(texts(&rig), ["[Conversation summary]\n\ncontinuation 1"]);
}

#[test]
fn either_call_may_fail_and_the_context_stays() {
    for failing in [0, 1] {
        let compactor = Scripted::failing_at([failing]);
        let mut rig = rig(&fresh("check_prompt = \"check\""), turns(6), &compactor);
        rig.append(6);
        rig.request();
        assert_eq!(rig.ledger(), "vvvvvv");
        let fallback = rig.outcomes[0].1.fallback.clone().unwrap();
        assert_eq!(fallback.to, "none");
        assert!(fallback.reason.contains(&format!("call {failing} fails")), "{}", fallback.reason);
        // It is tried again.
        rig.request();
        assert_eq!(rig.ledger(), "ffffff");
    }
}

#[test]
fn a_reply_in_another_shape_is_a_failure() {
    let mut rig = Rig::stages(&stage(FRESH), 1_000, turns(6), Arc::new(OffShape));
    rig.append(6);
    rig.request();
    assert_eq!(rig.ledger(), "vvvvvv");
    assert!(rig.outcomes[0].1.fallback.is_some());
}

#[test]
fn tool_output_is_shortened_for_the_summariser_alone() {
    let compactor = Scripted::failing_at([]);
    let talk = Talk::new("S").user("u").calls(&[("a", "read", json!({}))]).result("a", &words(200));
    let mut rig = rig(&fresh("tool_text = 10\nkeep = { tokens = 1 }"), talk, &compactor);
    rig.append(3);
    rig.request();
    let messages = &compactor.tasks()[0].messages;
    assert_eq!(&**messages[2].text, " word word\n[shortened]");
    // " word word", a line break and "[shortened]".
    assert!(messages[2].tokens < 10, "{}", messages[2].tokens);
    assert_eq!(&**messages[0].text, "u");
}

#[test]
fn summary_has_configured_role_opening_and_reply() {
    let rig = at_once(&fresh("role = \"system\"\nmarker = \"[So far]\""), turns(6));
    assert_eq!(rig.sent(), [(Role::System, "[So far]\n\ncontinuation 0".to_owned())]);
    let rig = at_once(&fresh("role = \"assistant\"\nopening = \"What now?\""), turns(6));
    let roles: Vec<Role> = rig.sent().into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant]);
    let rig = at_once(&fresh("reply = \"Yes.\""), turns(6));
    assert_eq!(rig.sent()[1], (Role::Assistant, "Yes.".to_owned()));
    assert_eq!(rig.ledger(), "ffffff");
}

#[test]
fn opening_and_reply_leave_with_their_summary() {
    let mut rig = rig(
        &fresh("opening = \"What now?\"\nreply = \"Yes.\""),
        turns(12),
        &Scripted::failing_at([]),
    );
    for _ in 0..2 {
        rig.append(6);
        rig.request();
    }
    let summary = "[Conversation summary]\n\ncontinuation 1";
    assert_eq!(texts(&rig), ["What now?", summary, "Yes."]);
}

#[test]
fn summary_larger_than_source_is_refused_without_retry() {
    let parameters = "refuse_larger = true\nkeep = { messages = 1 }\nmarker = \"M\"";
    let talk = || Talk::new("S").user("a").user(&words(150));
    let compactor = Scripted::failing_at([]);
    let mut refused = rig(&fresh(parameters), talk(), &compactor);
    refused.append(2);
    refused.request();
    refused.request();
    assert_eq!(refused.ledger(), "vv");
    assert_eq!(compactor.tasks().len(), 1);
    let fallback = refused.outcomes[0].1.fallback.clone().unwrap();
    assert_eq!(fallback.reason, "the summary is larger than what it sums up");
    let taken = at_once(&fresh("keep = { messages = 1 }\nmarker = \"M\""), talk());
    assert_eq!(taken.ledger(), "fv");
}

#[test]
fn call_awaiting_its_result_is_not_folded() {
    let talk = turns(5).calls(&[("a", "read", json!({}))]).user(&words(30)).result("a", "late");
    let mut rig = rig(FRESH, talk, &Scripted::failing_at([]));
    rig.append(7);
    rig.request();
    assert_eq!(rig.ledger(), "fffffvv");
}

#[test]
fn token_numbers_scale_with_window_unlike_counts() {
    let half = |parameters: &str| {
        let mut rig = Rig::stages(
            &stage(&fresh(parameters)),
            500,
            turns(6),
            Arc::<Scripted>::clone(&Scripted::failing_at([])),
        );
        rig.append(6);
        rig.request();
        rig.ledger()
    };
    assert_eq!(half("keep = { tokens = 120 }"), "ffffvv");
    assert_eq!(half("keep = { share = 0.4, of = \"window\", at_most = 120 }"), "ffffvv");
    assert_eq!(half("keep = { messages = 3 }"), "fffvvv");
    assert_eq!(half("keep_user_messages = 60"), "ffffvf");
}

#[test]
fn summary_as_large_as_its_source_is_taken() {
    let size = recap_core::tokens::Counter::default().count("M\n\ncontinuation 0") as usize;
    let parameters = fresh("refuse_larger = true\nkeep = { messages = 1 }\nmarker = \"M\"");
    let with = |tokens| {
        let talk = Talk::new("S").user(&words(tokens)).user(&words(150));
        at_once(&parameters, talk).ledger()
    };
    assert_eq!((with(size).as_str(), with(size - 1).as_str()), ("fv", "vv"));
}
