use super::*;
use crate::model::{Block, RecordedCompaction, Usage};

/// A message of so many tokens; a response reports its prompt, what of it was
/// read, and its output.
fn said(role: Role, tokens: usize, usage: Option<(u64, u64, u64)>) -> Message {
    let text = vec!["word"; tokens].join(" ");
    let usage = usage.map(|(prompt, read, output)| Usage {
        input: prompt - read,
        cache_read: read,
        output,
        output_final: output > 0,
        ..Usage::default()
    });
    let blocks = vec![Block::Text { text }];
    let id = String::new();
    Message { id, role, at: None, blocks, usage, synthetic: false, broadcast: false }
}

fn user(tokens: usize) -> Message {
    said(Role::User, tokens, None)
}

/// A response to a prompt of so many tokens, none of them read.
fn answer(tokens: usize, prompt: u64) -> Message {
    said(Role::Assistant, tokens, Some((prompt, 0, 0)))
}

fn of(messages: Vec<Message>) -> Session {
    let mut session = Session { messages, ..Session::default() };
    for (at, message) in session.messages.iter_mut().enumerate() {
        message.id = at.to_string();
    }
    session
}

fn measured(session: &Session) -> Measured {
    let counter = Counter::default();
    measure(session, &Sizes::of(session, &counter), 1.0, &counter)
}

fn tokens(found: &Measured) -> Vec<u64> {
    found.messages.iter().map(|(tokens, _)| *tokens).collect()
}

#[test]
fn a_step_weighs_what_the_prompt_grew_by() {
    // 1,000 hidden and 10; then 40 more for 10 and 10 of ours; then 45 for 30.
    let talk = vec![user(10), answer(10, 1_010), user(10), answer(10, 1_050), user(20)];
    let talk = [talk, vec![answer(5, 1_095)]].concat();
    let found = measured(&of(talk));
    assert_eq!(found.hidden, 1_000);
    // In proportion: 20 and 20, 15 and 30. What no report covers stays.
    assert_eq!(tokens(&found), [10, 20, 20, 15, 30, 5]);
    assert_eq!(found.shrinks, []);
}

#[test]
fn step_below_count_shrinks_its_messages_in_proportion() {
    let talk = vec![user(10), answer(10, 110), user(30), answer(1, 130)];
    // 20 for 40 of ours.
    assert_eq!(tokens(&measured(&of(talk))), [10, 5, 15, 1]);
}

#[test]
fn large_jump_belongs_to_last_message_before_response() {
    let talk = vec![user(10), answer(10, 110), user(20), said(Role::Tool, 20, None)];
    let found = measured(&of([talk, vec![answer(1, 5_160)]].concat()));
    // 50 are counted, 5,000 are not.
    assert_eq!(found.messages, [(10, 0), (10, 0), (20, 0), (5_020, 5_000), (1, 0)]);
}

/// A response that thought 300 tokens, a result of 20, and another response;
/// then the user speaks, and the prompt is so large, of which so much is read.
fn thinking(prompt: u64, read: u64) -> Session {
    of(vec![
        user(10),
        said(Role::Assistant, 10, Some((1_010, 0, 310))),
        said(Role::Tool, 20, None),
        said(Role::Assistant, 10, Some((1_340, 1_010, 10))),
        user(50),
        said(Role::Assistant, 1, Some((prompt, read, 0))),
    ])
}

#[test]
fn reasoning_counts_with_response_until_the_user_speaks() {
    // 1,340 + 10 + 50 − 300 = 1,100, and only the beginning is read.
    let found = measured(&thinking(1_100, 900));
    assert_eq!(tokens(&found), [10, 310, 20, 10, 50, 1]);
    assert_eq!(found.shrinks, [Shrink { before: 5, message: 1, tokens: 300 }]);
}

#[test]
fn fully_read_prefix_has_lost_nothing() {
    // 1,340 + 30: the step is smaller than the 60 that are counted.
    let found = measured(&thinking(1_370, 1_340));
    assert_eq!(tokens(&found), [10, 310, 20, 5, 25, 1]);
    assert_eq!(found.shrinks, []);
}

#[test]
fn shrunken_prompt_lost_the_newest_tokens_before_it() {
    // 1,060 before; now 30 less than without the 20 of the step.
    let talk = vec![user(10), answer(10, 1_010), user(40), answer(10, 1_060), user(10)];
    let found = measured(&of([talk, vec![answer(1, 1_030)]].concat()));
    assert_eq!(tokens(&found), [10, 10, 40, 0, 0, 1]);
    assert_eq!(found.shrinks, [Shrink { before: 5, message: 2, tokens: 30 }]);
}

#[test]
fn first_prompt_after_compaction_sizes_restored_content() {
    let messages = vec![user(10), answer(10, 1_010), user(500), answer(10, 1_520), user(20)];
    let mut talk = of([messages, vec![answer(10, 1_270)]].concat());
    talk.compactions = vec![RecordedCompaction {
        after: 4,
        kept_from: 3,
        summary: Some("a summary of five words".to_owned()),
        ..RecordedCompaction::default()
    }];
    let found = measured(&talk);
    // 1,000 hidden, 10 kept and 20 new: 240 are left for the summary.
    assert_eq!(found.put_back, [Some(240)]);
    assert_eq!(tokens(&found), [10, 10, 500, 10, 20, 10]);
    // Less than nothing cannot have been put back: 15 of the step's 30 are no
    // tokens, 5 of the response's and 10 of the user's.
    talk.messages[5].usage = Some(Usage { input: 1_015, ..Usage::default() });
    let found = measured(&talk);
    assert_eq!((found.put_back[0], found.messages[4].0), (Some(0), 10));
}

#[test]
fn absurd_prompts_are_no_sizes() {
    let talk = vec![user(10), answer(10, 1_010), user(10), answer(10, u64::MAX), user(10)];
    let found = measured(&of([talk, vec![answer(1, 0)]].concat()));
    assert_eq!(tokens(&found), [10, 10, 10, 10, 10, 1]);
}

#[test]
fn conversation_before_recording_leaves_with_first_message() {
    // 1,000 are the preamble, 100,000 an earlier conversation: the compaction
    // leaves the preamble, 30 words of a summary and 20 that are new.
    let session = |behind: u64| {
        let talk = vec![user(10), answer(10, 101_010), user(10), answer(10, 101_030)];
        let mut talk = of([talk, vec![user(20), answer(10, behind)]].concat());
        let summary = Some(vec!["word"; 30].join(" "));
        talk.compactions = vec![RecordedCompaction {
            after: 4,
            kept_from: 4,
            summary,
            ..RecordedCompaction::default()
        }];
        measured(&talk)
    };
    let found = session(1_050);
    assert_eq!((found.hidden, found.messages[0]), (1_000, (100_010, 100_000)));
    assert_eq!((tokens(&found)[1..4].to_vec(), found.put_back), (vec![10, 10, 10], vec![Some(30)]));
    // A summary that is smaller than counted, or a preamble that lost a little,
    // is no earlier conversation.
    let found = session(100_500);
    assert_eq!((found.hidden, found.messages[0]), (101_000, (10, 0)));
}

#[test]
fn without_usage_sizes_noted_at_compactions_count() {
    let silent = |tokens| said(Role::Assistant, tokens, None);
    let mut session = of(vec![user(10), silent(10), user(10), silent(30), user(5)]);
    let made = |after, before, behind| RecordedCompaction {
        after,
        kept_from: after,
        summary: Some(["word"; 5].join(" ")),
        tokens_before: Some(before),
        tokens_after: behind,
        ..RecordedCompaction::default()
    };
    // 980 hidden and 20; then 980 and the summary's 5, which is noted to be 20 larger.
    session.compactions = vec![made(2, 1_000, Some(1_005))];
    let found = measured(&session);
    assert_eq!((found.hidden, found.put_back.clone()), (980, vec![Some(25)]));
    assert_eq!(tokens(&found), [10, 10, 10, 30, 5]);
    // The next one is noted 400 above that and 40: in proportion, 110 and 330.
    session.compactions.push(made(4, 1_445, None));
    let found = measured(&session);
    assert_eq!(tokens(&found), [10, 10, 110, 330, 5]);
    assert_eq!(found.put_back, [Some(25), None]);
    // One at the end counts, too; impossible sizes do not.
    session.compactions = vec![made(5, 1_065, None)];
    assert_eq!(measured(&session).hidden, 1_000);
    session.compactions = vec![made(2, u64::MAX, Some(0))];
    assert_eq!((measured(&session).hidden, measured(&session).put_back), (0, vec![None]));
    // Where prompts are reported, they count alone.
    let mut session = of(vec![user(10), answer(10, 110), user(10), answer(10, 130)]);
    session.compactions = vec![made(4, 9_000, None)];
    assert_eq!(measured(&session).hidden, 100);
}
