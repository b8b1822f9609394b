use super::*;
use crate::model::{Block, PreambleChange, RecordedTrigger, Role, Usage};

/// A reading of the first stretch that read nothing from the cache.
fn at(counted: u64, prompt: u64) -> Reading {
    Reading { message: 0, from: 0, counted, prompt, read: 0, written: 0, unseen: 0 }
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

fn line(readings: &[Reading], hidden: f64, factor: f64) {
    let found = FitLine::through(readings);
    close(found.hidden, hidden);
    close(found.factor, factor);
}

#[test]
fn three_readings_are_fitted_by_least_squares() {
    // Means 200 and 460. Deviations −100, 0, 100 and −90, −60, 150: products
    // 9,000 + 15,000 over squares 20,000 are 1.2; 460 − 1.2 × 200 = 220.
    let readings = [at(100, 370), at(200, 400), at(300, 610)];
    line(&readings, 220.0, 1.2);
    // Predicted 340, 460, 580: off by 30/370, 60/400 and 30/610.
    close(FitLine::through(&readings).error_on(&readings).unwrap(), 30.0 / 370.0);
}

#[test]
fn a_hidden_part_is_never_negative() {
    // The free line would be 2 × counted − 100. Through the origin:
    // (100 × 100 + 200 × 300) / (100² + 200²) = 70,000 / 50,000.
    line(&[at(100, 100), at(200, 300)], 0.0, 1.4);
}

#[test]
fn one_size_tells_no_factor() {
    line(&[at(100, 350)], 250.0, 1.0);
    // Mean prompt 300.
    line(&[at(100, 280), at(100, 320)], 200.0, 1.0);
    line(&[at(0, 50)], 50.0, 1.0);
    // A prompt smaller than what is visible.
    line(&[at(100, 80)], 0.0, 0.8);
}

#[test]
fn slope_impossible_for_any_vocabulary_is_rejected() {
    // Prompts that shrink: mean 450 at mean 200.
    line(&[at(100, 500), at(300, 400)], 250.0, 1.0);
    // Six tokens for one: mean 1,000 at mean 150.
    line(&[at(100, 700), at(200, 1_300)], 850.0, 1.0);
    // A twentieth of what is visible.
    line(&[at(1_000, 50)], 0.0, 1.0);
}

fn message(role: Role, blocks: Vec<Block>) -> Message {
    let id = String::new();
    Message { id, role, at: None, blocks, usage: None, synthetic: false, broadcast: false }
}

/// A text of exactly so many o200k tokens: "a a a …".
fn words(tokens: usize) -> String {
    vec!["a"; tokens].join(" ")
}

fn said(role: Role, tokens: usize) -> Message {
    message(role, vec![Block::Text { text: words(tokens) }])
}

/// A response of one token, whose request was reported so.
fn answer(usage: Usage) -> Message {
    Message { usage: Some(usage), ..said(Role::Assistant, 1) }
}

fn prompt(input: u64) -> Message {
    answer(Usage { input, ..Usage::default() })
}

fn of(messages: Vec<Message>) -> Session {
    Session { messages, ..Session::default() }
}

fn boundary(after: MessageIndex, kept_from: MessageIndex) -> RecordedCompaction {
    RecordedCompaction {
        after,
        kept_from,
        summary: None,
        cleared: Vec::new(),
        trigger: RecordedTrigger::Auto,
        ..RecordedCompaction::default()
    }
}

fn read(session: &Session) -> Vec<Reading> {
    let counter = Counter::default();
    readings(session, &Sizes::of(session, &counter), &counter)
}

fn known(session: &Session) -> Option<Calibration> {
    let counter = Counter::default();
    calibrate(session, &Sizes::of(session, &counter), &counter)
}

fn counted(session: &Session) -> Vec<u64> {
    read(session).iter().map(|r| r.counted).collect()
}

#[test]
fn context_is_visible_preamble_plus_messages() {
    let mut talk = of(vec![said(Role::User, 10), prompt(50), said(Role::User, 5), prompt(70)]);
    talk.preamble.system = vec![words(3)];
    assert_eq!(counted(&talk), [13, 19]);
    talk.preamble_changes.push(PreambleChange { before: 3, system: vec![words(7)] });
    assert_eq!(counted(&talk), [13, 23]);
}

#[test]
fn summary_replaces_covered_messages_and_keeps_tail() {
    let mut talk = of(vec![
        said(Role::User, 10),
        prompt(50),
        said(Role::User, 20),
        prompt(90),
        said(Role::User, 40),
        prompt(30),
        prompt(31),
    ]);
    talk.compactions =
        vec![RecordedCompaction { summary: Some(words(4)), ..boundary(4, 2) }, boundary(6, 5)];
    let found = read(&talk);
    // 10; 10 + 1 + 20; summary 4 + kept 20 + 1, then 40. The second boundary
    // left nothing but the response.
    assert_eq!(found.iter().map(|r| r.counted).collect::<Vec<_>>(), [10, 31, 65, 1]);
    assert_eq!(found.iter().map(|r| r.from).collect::<Vec<_>>(), [0, 0, 4, 6]);
}

#[test]
fn cleared_results_are_counted_as_their_marker() {
    let call = |id: &str| Block::ToolCall {
        id: id.into(),
        name: "read".into(),
        arguments: serde_json::json!({}),
    };
    let result = |id: &str| {
        let text = words(100);
        let block = Block::ToolResult { call: id.into(), text, images: 0, is_error: false };
        message(Role::Tool, vec![block])
    };
    let both = message(Role::Assistant, vec![call("x"), call("y")]);
    let mut talk = of(vec![both, result("x"), result("y"), prompt(400), prompt(300)]);
    let whole = counted(&talk);
    talk.compactions =
        vec![RecordedCompaction { cleared: vec!["y".into(), "z".into()], ..boundary(4, 4) }];
    let marker = Counter::default().count(CLEARED);
    assert_eq!(counted(&talk), [whole[0], whole[1] - 100 + marker]);
    // Cleared twice, then dropped: the sum stays right.
    talk.compactions.push(RecordedCompaction {
        cleared: vec!["y".into()],
        summary: Some(words(2)),
        ..boundary(4, 2)
    });
    assert_eq!(counted(&talk), [whole[0], 2 + marker + 1]);
}

#[test]
fn boundary_outside_first_and_last_message_is_ignored() {
    let mut talk = of(vec![said(Role::User, 10), prompt(50), prompt(60)]);
    let plain = known(&talk).unwrap();
    let summary = Some(words(9));
    talk.compactions = vec![
        RecordedCompaction { summary: summary.clone(), ..boundary(0, 0) },
        RecordedCompaction { summary, ..boundary(3, 3) },
    ];
    assert_eq!(known(&talk), Some(plain));
}

#[test]
fn aborted_and_absurd_figures_are_no_readings() {
    let absurd = Usage { input: u64::MAX, cache_read: u64::MAX, ..Usage::default() };
    let synthetic = Message { synthetic: true, ..prompt(77) };
    let mut talk = of(vec![
        prompt(0),
        answer(absurd),
        synthetic,
        said(Role::Assistant, 1),
        prompt(MOST_TOKENS + 1),
    ]);
    assert_eq!(known(&talk), None);
    talk.messages.push(prompt(500));
    let found = known(&talk).unwrap();
    // Five tokens were said, 495 are hidden.
    assert_eq!(found.fits, [Fit { from: 0, hidden: 495.0, factor: 1.0, requests: 1 }]);
    assert_eq!((found.in_sample, found.forward, found.after_boundary), (None, None, None));
    // Nothing is hidden in figures that are no counts.
    let sizes = Sizes::of(&of(vec![answer(absurd)]), &Counter::default());
    assert_eq!(sizes.hidden_tokens, 0);
}

#[test]
fn first_stretch_with_usage_has_the_leading_fit() {
    let mut talk = of(vec![said(Role::User, 10), said(Role::Assistant, 1), prompt(100), prompt(9)]);
    talk.compactions = vec![boundary(2, 2), boundary(3, 3)];
    let found = known(&talk).unwrap();
    assert_eq!(found.fits.iter().map(|f| f.from).collect::<Vec<_>>(), [2, 3]);
    // The boundary left no message: 100 hidden, and 100 foretold for 9.
    close(found.fits[0].hidden, 100.0);
    close(found.after_boundary.unwrap(), 91.0 / 9.0);
}

#[test]
fn forward_error_tests_first_half_fit_on_second() {
    // Counted 10, 20, 30, 40, each with the response before.
    let step = || said(Role::User, 9);
    let talk = |last: u64| {
        let first = said(Role::User, 10);
        of(vec![first, prompt(112), step(), prompt(124), step(), prompt(136), step(), prompt(last)])
    };
    assert_eq!(counted(&talk(1)), [10, 20, 30, 40]);
    // 112 and 124 are 100 + 1.2 × counted, which foretells 136 and 148.
    let found = known(&talk(148)).unwrap();
    close(found.forward.unwrap(), 0.0);
    close(found.in_sample.unwrap(), 0.0);
    // 148 foretold for 160: off by 12/160; the median of that and 0.
    let found = known(&talk(160)).unwrap();
    close(found.forward.unwrap(), 0.0375);
}

/// A request of a prompt of 100,000 with this much read and the rest written.
fn cached(from: MessageIndex, read: u64) -> Reading {
    let (counted, prompt) = (80_000, 100_000);
    Reading { message: 0, from, counted, prompt, read, written: prompt - read, unseen: 0 }
}

#[test]
fn global_part_is_most_frequent_read_after_restarts() {
    let reads = |reads: &[u64]| reads.iter().map(|&r| cached(0, r)).collect::<Vec<_>>();
    // Restarts read 16,000 twice within 1 % and 12,000 once; 99,000 is no restart.
    let restarted = reads(&[0, 99_000, 16_000, 12_000, 16_100, 99_000]);
    assert_eq!(global_part(&restarted, 20_000.0), Some(16_000));
    // More than is hidden cannot be global; 5 % over is the fit's error.
    assert_eq!(global_part(&restarted, 15_400.0), Some(16_000));
    assert_eq!(global_part(&restarted, 15_000.0), Some(12_000));
    assert_eq!(global_part(&restarted, 9_000.0), None);
    // One each: the smallest.
    assert_eq!(global_part(&reads(&[0, 14_000, 12_000]), 20_000.0), Some(12_000));
}

#[test]
fn boundary_is_restart_even_after_full_cache_read() {
    let readings = [cached(0, 0), cached(0, 99_000), cached(7, 99_000)];
    assert_eq!(global_part(&readings, 100_000.0), Some(99_000));
    assert_eq!(global_part(&readings[..2], 100_000.0), None);
}

#[test]
fn first_request_read_is_global_without_restart() {
    assert_eq!(global_part(&[cached(0, 16_000), cached(0, 99_000)], 20_000.0), Some(16_000));
    assert_eq!(global_part(&[cached(0, 16_000)], 15_900.0), None);
    assert_eq!(global_part(&[], 15_900.0), None);
}

#[test]
fn unreported_prompt_sizes_are_scaled_reported_outputs_kept() {
    let reported = Usage { output: 77, output_final: true, ..Usage::default() };
    let placeholder = Usage { output: 2, output_final: false, ..Usage::default() };
    let absurd = Usage { output: u64::MAX, output_final: true, ..Usage::default() };
    let mut talk = of(vec![
        said(Role::User, 10),
        answer(reported),
        Message { usage: Some(placeholder), ..said(Role::Assistant, 20) },
        Message { usage: Some(absurd), ..said(Role::Assistant, 40) },
    ]);
    talk.messages[2].blocks.push(Block::Reasoning { text: words(30) });
    talk.preamble.system = vec![words(5)];
    talk.preamble_changes.push(PreambleChange { before: 2, system: vec![words(15)] });
    let counter = Counter::default();
    let sizes = Sizes::of(&talk, &counter);
    assert_eq!(sizes.output, [0, 77, 50, 40]);
    let scaled = sizes.measured(&talk, 1.3, &counter);
    // 1.3 × 10, 1, 20, 40; 1 × 1.3 is rounded down.
    let found = scaled.messages.iter().map(|w| w.tokens).collect::<Vec<_>>();
    assert_eq!(found, [13, 1, 26, 52]);
    assert_eq!(scaled.messages[0].units, sizes.messages[0].units);
    // 50 × 1.3, thinking included, and 40 × 1.3.
    assert_eq!(scaled.output, [0, 77, 65, 52]);
    // 6.5 and 19.5: halves go up.
    assert_eq!((scaled.preamble.tokens, scaled.preamble_changes[0].tokens), (7, 20));
    assert_eq!(scaled.hidden_tokens, 0);
}
