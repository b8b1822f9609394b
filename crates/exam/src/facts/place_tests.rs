use serde_json::json;

use super::*;
use recap_core::model::{Block, Message, NoCut, Role};

/// So many requests, each a call with its result; every message has 1,000
/// tokens.
fn chat(requests: usize) -> (Session, Vec<u64>) {
    let said = |n: usize, role, block| Message {
        id: format!("m{n}"),
        role,
        at: None,
        blocks: vec![block],
        usage: None,
        synthetic: false,
        broadcast: false,
    };
    let mut messages = Vec::new();
    for k in 0..requests {
        let id = format!("c{k}");
        let call = Block::ToolCall { id: id.clone(), name: "Read".into(), arguments: json!({}) };
        messages.push(said(2 * k, Role::Assistant, call));
        let result = Block::ToolResult { call: id, text: "x".into(), images: 0, is_error: false };
        messages.push(said(2 * k + 1, Role::Tool, result));
    }
    let sizes = vec![1_000; messages.len()];
    (Session { id: "s".into(), messages, ..Session::default() }, sizes)
}

fn requests(places: &[CutPlace]) -> Vec<u32> {
    places.iter().map(|place| place.request).collect()
}

#[test]
fn cuts_are_requests_nearest_to_even_token_shares() {
    let (session, sizes) = chat(50);
    // 100,000 tokens; request k has 2,000·k before it; shares at 10, 30 … 90 %.
    let found = places(&session, &sizes, Cuts::Spread(5), 1).unwrap();
    assert_eq!(requests(&found), [5, 15, 25, 35, 45]);
    // Twelve thousand tokens stand before request 6 at the earliest.
    let deep = places(&session, &sizes, Cuts::Spread(5), 3).unwrap();
    assert_eq!(requests(&deep), [6, 15, 25, 35, 45]);
    // At most 40 requests are looked at, and at the end those that are left.
    assert_eq!((found[0].requests, found.last().unwrap().requests), (40, 5));
}

#[test]
fn cut_needs_4000_earlier_tokens_five_requests_around() {
    let (session, mut sizes) = chat(10);
    let found = places(&session, &sizes, Cuts::All, 1).unwrap();
    assert_eq!(requests(&found), [5]);
    sizes.iter_mut().for_each(|size| *size = 399);
    let why = places(&session, &sizes, Cuts::All, 1).unwrap_err();
    assert!(why.to_string().contains("it has 10 requests and 7,980 tokens"), "{why}");
    let (short, sizes) = chat(9);
    assert!(places(&short, &sizes, Cuts::All, 1).is_err());
}

#[test]
fn the_material_is_what_the_recorded_agent_had() {
    let (mut session, sizes) = chat(40);
    // Before message 30 the vendor folded all but messages 21 to 29, and kept
    // message 4 from further up; before message 50 it cleared the result of
    // call 12, message 25.
    session.compactions = vec![
        RecordedCompaction {
            after: 30,
            kept_from: 21,
            pieces: vec![Piece::Message(4), Piece::Text { role: Role::User, text: "so".into() }],
            ..RecordedCompaction::default()
        },
        RecordedCompaction {
            after: 50,
            kept_from: 50,
            cleared: vec!["c12".into()],
            ..RecordedCompaction::default()
        },
    ];
    let found = places(&session, &sizes, Cuts::All, 1).unwrap();
    let cut = found.iter().find(|place| place.request == 27).unwrap();
    // Message 21 is a result whose call went: no provider takes it.
    let kept: Vec<u32> = cut.material.iter().map(|kept| kept.message).collect();
    assert_eq!(kept, [4].into_iter().chain(22..54).collect::<Vec<u32>>());
    let cleared: Vec<u32> =
        cut.material.iter().filter(|kept| kept.cleared).map(|kept| kept.message).collect();
    assert_eq!(cleared, [25]);
    assert!(cut.holds(24) && !cut.holds(25) && !cut.holds(21));
    // Behind message 50 stand 51, 52 and 53.
    assert_eq!(cut.behind(50, &sizes), 3_000);
    // No cut looks beyond the next boundary.
    let before = found.iter().find(|place| place.request == 10).unwrap();
    assert_eq!(before.requests, 5);
}

#[test]
fn recorded_cuts_stand_at_compactions_that_took_messages() {
    let (mut session, sizes) = chat(40);
    let boundary = |after, cleared: &[&str]| RecordedCompaction {
        after,
        kept_from: after,
        cleared: cleared.iter().map(|id| (*id).to_owned()).collect(),
        ..RecordedCompaction::default()
    };
    session.compactions = vec![boundary(20, &["c2"]), boundary(40, &[]), boundary(80, &[])];
    let found = places(&session, &sizes, Cuts::Recorded, 1).unwrap();
    // The first only cleared a result, and no request follows the last.
    let cuts: Vec<_> = found.iter().map(|p| (p.request, p.recorded, p.material.len())).collect();
    assert_eq!(cuts, [(20, Some(1), 40)]);
    session.compactions.clear();
    let why = places(&session, &sizes, Cuts::Recorded, 1).unwrap_err();
    assert_eq!(why, NoCut::NeverCompacted);
}

#[test]
fn number_of_cuts_accepts_usual_spellings() {
    assert_eq!("5".parse(), Ok(Cuts::Spread(5)));
    assert_eq!(" all ".parse(), Ok(Cuts::All));
    assert_eq!("recorded".parse(), Ok(Cuts::Recorded));
    assert_eq!(("0".parse(), "none".parse()), (Ok(Cuts::None), Ok(Cuts::None)));
    for wrong in ["", "-1", "1.5", "10001", "every", "99999999999999999999"] {
        assert!(wrong.parse::<Cuts>().is_err(), "{wrong}");
    }
}

/// Message 4 is from further up; 21 and 22 are in the tail anyway.
#[test]
fn tokens_kept_by_boundary_count_once_before_cut() {
    let (mut session, mut sizes) = chat(40);
    session.compactions = vec![RecordedCompaction {
        after: 30,
        kept_from: 21,
        pieces: [4, 21, 22].map(Piece::Message).to_vec(),
        ..RecordedCompaction::default()
    }];
    sizes.iter_mut().for_each(|size| *size = 300);
    let mut first = |size| {
        sizes[4] = size;
        let found = places(&session, &sizes, Cuts::All, 1).unwrap();
        found.iter().map(|place| place.request).find(|request| *request >= 15)
    };
    // Before request 16, message 32, stand messages 21 to 31: 3,300 tokens.
    assert_eq!(first(700), Some(16));
    assert_eq!(first(699), Some(17));
}

#[test]
fn cut_needs_five_requests_since_last_boundary() {
    let (mut session, sizes) = chat(40);
    // Message 22 is the call of request 11.
    let boundary = RecordedCompaction { after: 30, kept_from: 22, ..RecordedCompaction::default() };
    session.compactions = vec![boundary];
    let found = places(&session, &sizes, Cuts::All, 1).unwrap();
    let behind: Vec<u32> = requests(&found).into_iter().filter(|request| *request > 10).collect();
    assert_eq!(behind, (16..=35).collect::<Vec<u32>>());
}

#[test]
fn cut_knows_first_and_last_request_and_remainder() {
    let (session, sizes) = chat(50);
    let found = places(&session, &sizes, Cuts::Spread(5), 1).unwrap();
    let actual = |place: &CutPlace| (place.from, place.last, place.requests, place.left);
    // Of request 5 and the 45 from it on, 40 are looked at: 5 to 44.
    assert_eq!(actual(&found[0]), (10, 88, 40, 45));
    assert_eq!(actual(&found[4]), (90, 98, 5, 5));
    let (mut session, sizes) = chat(40);
    let boundary = |after, kept_from| RecordedCompaction { after, kept_from, ..Default::default() };
    // Behind nothing is no cut, nor before another boundary without a request.
    session.compactions =
        vec![boundary(0, 0), boundary(39, 30), boundary(40, 40), boundary(61, 61)];
    let found = places(&session, &sizes, Cuts::Recorded, 1).unwrap();
    let cuts: Vec<_> = found.iter().map(|place| (place.recorded, actual(place))).collect();
    // Requests 20 to 30 and 31 to 39.
    assert_eq!(cuts, [(Some(2), (40, 60, 11, 11)), (Some(3), (61, 78, 9, 9))]);
}

#[test]
fn too_short_session_is_reported_with_needed_tokens() {
    let (session, sizes) = chat(5);
    let why = |depth| places(&session, &sizes, Cuts::All, depth).unwrap_err();
    let short = |least| NoCut::Short { requests: 5, tokens: 10_000, least };
    assert_eq!((why(1), why(3)), (short(4_000), short(12_000)));
    assert_eq!(places(&session, &sizes, Cuts::None, 1), Err(NoCut::NotAsked));
}

#[test]
fn cuts_are_written_as_they_are_read() {
    for (cuts, text) in [
        (Cuts::None, "none"),
        (Cuts::All, "all"),
        (Cuts::Recorded, "recorded"),
        (Cuts::Spread(10_000), "10000"),
    ] {
        assert_eq!(cuts.to_string(), text);
        assert_eq!(text.parse(), Ok(cuts));
    }
    let wrong = "many".parse::<Cuts>().unwrap_err();
    assert_eq!(wrong, "write a number up to 10000, `all`, `recorded` or `none`");
}

#[test]
fn cuts_stand_before_own_requests_behind_copied_history() {
    let (mut session, sizes) = chat(20);
    session.copied = (0..20).step_by(2).collect();
    // Requests 0 to 9 of its own have ten copied ones before them, and 0 to 5 five behind.
    let found = places(&session, &sizes, Cuts::All, 1).unwrap();
    assert_eq!(requests(&found), [0, 1, 2, 3, 4, 5]);
    assert_eq!((found[0].from, found[0].material.len(), found[0].left), (20, 20, 10));
    let boundary = |after, copied| RecordedCompaction {
        after,
        kept_from: after,
        copied,
        ..RecordedCompaction::default()
    };
    session.compactions = vec![boundary(12, true), boundary(31, false)];
    let found = places(&session, &sizes, Cuts::Recorded, 1).unwrap();
    assert_eq!(found.iter().map(|place| place.recorded).collect::<Vec<_>>(), [Some(1)]);
    // What the copied one took away is gone all the same.
    assert_eq!(found[0].material.len(), 19);
}
