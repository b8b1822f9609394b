use super::*;
use crate::model::Block;

/// Readings of stretches that are 10,000 hidden tokens, 2,000 more at each
/// request, twice what we count, and what is added from a reading on. Between
/// two readings stand the response, a result and a user's message.
fn readings(count: u32, added: impl Fn(u32) -> i64) -> Vec<Reading> {
    let reading = |n: u32| Reading {
        message: 1 + 3 * n,
        from: 0,
        counted: 1_000 * u64::from(n),
        prompt: (10_000 + 2_000 * i64::from(n) + added(n)) as u64,
        read: 0,
        written: 0,
        unseen: 0,
    };
    (0..count).map(reading).collect()
}

/// User, then response, result and user's message for each reading.
fn messages(count: u32) -> Vec<Message> {
    let roles = [Role::User, Role::Assistant, Role::Tool];
    let message = |role: Role| Message {
        id: String::new(),
        role,
        at: None,
        blocks: vec![Block::Text { text: String::new() }],
        usage: None,
        synthetic: false,
        broadcast: false,
    };
    (0..3 * count + 1).map(|n| message(roles[n as usize % 3])).collect()
}

fn marked(mut stretch: Vec<Reading>) -> (Vec<(MessageIndex, u64)>, Vec<u64>) {
    let messages = messages(stretch.len() as u32);
    let plain = stretch.clone();
    let carried = mark(&mut stretch, &messages);
    let unseen = stretch.iter().map(|reading| reading.unseen).collect();
    for reading in &mut stretch {
        reading.unseen = 0;
    }
    assert_eq!(stretch, plain, "nothing else is touched");
    (carried, unseen)
}

fn from(first: u32, tokens: i64) -> impl Fn(u32) -> i64 {
    move |n| if n >= first { tokens } else { 0 }
}

#[test]
fn lasting_jump_belongs_to_last_non_response_message() {
    // Reading 4 is message 13: the response 10, the result 11 and the user's
    // 12 arrived since reading 3. Two tokens for one of ours, none for a frame.
    let (carried, unseen) = marked(readings(12, from(4, 5_000)));
    assert_eq!(carried, [(12, 5_000)]);
    assert_eq!(unseen, [vec![0; 4], vec![5_000; 8]].concat());
}

#[test]
fn constant_request_frame_is_excluded_from_jumps() {
    // 70 tokens each time, 30 + 5,000 of them at reading 4; the steps are
    // uneven so that the frame is no slope.
    let mut stretch = readings(12, |n| from(4, 5_000)(n) + 70 * i64::from(n));
    for reading in &mut stretch[6..] {
        reading.counted += 20_000;
        reading.prompt += 40_000;
    }
    // The heaviest step is 21,000 of ours and 42,070 of the provider's: a slope
    // of 2.00333, so that 1,000 explain 2,003.33 and leave a frame of 66.67.
    // 7,070 − 2,003.33 − 66.67.
    assert_eq!(marked(stretch).0, [(12, 5_000)]);
}

#[test]
fn a_reading_that_falls_back_is_no_jump() {
    let spike = |n: u32| if n == 4 { 5_000 } else { 0 };
    assert_eq!(marked(readings(12, spike)).0, []);
    // It stays for two of the seven that follow: 2/7 of it are below a half.
    let short = |n: u32| if (4..7).contains(&n) { 5_000 } else { 0 };
    assert_eq!(marked(readings(12, short)).0, []);
    // Nothing follows the last one that could tell.
    assert_eq!(marked(readings(12, from(11, 5_000))).0, []);
}

#[test]
fn jump_exceeds_1000_tokens_and_2_per_cent() {
    assert_eq!(marked(readings(12, from(4, 1_000))).0, []);
    assert_eq!(marked(readings(12, from(4, 1_001))).0, [(12, 1_001)]);
    // A prompt of 100,000 more: 118,000 and the jump. 2,450 > 0.02 × 120,450.
    let large = |tokens| readings(12, move |n| 100_000 + from(4, tokens)(n));
    assert_eq!(marked(large(2_400)).0, []);
    assert_eq!(marked(large(2_450)).0, [(12, 2_450)]);
}

#[test]
fn a_session_of_jumps_keeps_its_straight_line() {
    // Two of 20 readings are a tenth; three are more.
    let two = |n| from(4, 5_000)(n) + from(10, 7_000)(n);
    assert_eq!(marked(readings(20, two)).0, [(12, 5_000), (30, 7_000)]);
    let three = |n| two(n) + from(15, 9_000)(n);
    assert_eq!(marked(readings(20, three)).0, []);
    assert_eq!(marked(readings(9, from(4, 5_000))).0, []);
}

#[test]
fn jumps_that_explain_little_keep_the_straight_line() {
    // A jump of 3,000 beside readings that are off by 20,000, up and down in
    // turns of one reading: those fall back, and it explains little.
    let noisy = |n: u32| from(10, 3_000)(n) + if n % 16 == 8 { 20_000 } else { 0 };
    assert_eq!(marked(readings(40, noisy)).0, []);
    let quiet = |n: u32| from(10, 3_000)(n) + if n % 16 == 8 { 200 } else { 0 };
    assert_eq!(marked(readings(40, quiet)).0, [(30, 3_000)]);
}

#[test]
fn prompts_unrelated_to_messages_have_no_jumps() {
    // Twenty tokens for one of ours.
    let mut stretch = readings(12, from(4, 50_000));
    for reading in &mut stretch {
        reading.prompt *= 10;
    }
    assert_eq!(marked(stretch).0, []);
    assert_eq!(marked(readings(12, |n| -2_000 * i64::from(n))).0, []);
    assert_eq!(marked(Vec::new()).0, []);
    assert_eq!(marked(readings(1, |_| 0)).0, []);
}

#[test]
fn text_written_by_model_is_not_hidden() {
    let mut stretch = readings(12, from(4, 5_000));
    let mut messages = messages(12);
    for message in &mut messages[10..13] {
        message.role = Role::Assistant;
    }
    assert_eq!(mark(&mut stretch, &messages), []);
    assert!(stretch.iter().all(|reading| reading.unseen == 0));
}

#[test]
fn slope_weighs_each_step_by_its_counted_tokens() {
    // Ratios 1 (of 10), 2 (of 40) and 9 (of 45): half of 95 lies in the third;
    // without it half of 50 in the second. A step without growth tells nothing.
    assert_eq!(steady_slope(&[(45.0, 405.0), (10.0, 10.0), (40.0, 80.0)]), Some(2.0));
    assert_eq!(steady_slope(&[(10.0, 10.0), (40.0, 80.0), (0.0, 99.0)]), Some(2.0));
    assert_eq!(steady_slope(&[(0.0, 99.0), (-5.0, 1.0)]), None);
}
