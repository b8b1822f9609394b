use recap_core::model::{
    CompactionFacts, Quantities, Quantity, ReceiptFacts, RecordedTrigger, RequestFacts, Usage,
};

use super::*;
use crate::testkit::{facts, manifest};

/// Read, and written for five minutes, in thousands of tokens.
type Tokens = (u64, u64);

/// A prompt of 20k that grows by 10k from request to request.
fn growing(requests: u64) -> Vec<Tokens> {
    let grown = (1..requests).map(|n| (10 + 10 * n, 10));
    [(0, 20)].into_iter().chain(grown).collect()
}

/// A session of `cheap` (USD per million: input 1, read 0.1, write 1.25, output 5), with
/// compactions before these requests.
fn session(id: &str, requests: &[Tokens], made: &[(u32, RecordedTrigger)]) -> SessionFacts {
    let compactions = made.iter().map(|(request, trigger)| CompactionFacts {
        after: 2 * request + 1,
        trigger: *trigger,
        folds: true,
        tokens_before: Some(95_000),
        ..CompactionFacts::default()
    });
    let receipt = ReceiptFacts { compactions: compactions.collect(), ..ReceiptFacts::default() };
    facts(id)
        .requests(&vec![100; requests.len()])
        .with(|facts| {
            facts.model = Some("cheap".to_owned());
            for (request, (read, written)) in facts.requests.iter_mut().zip(requests) {
                request.recorded = Some(Usage {
                    cache_read: 1_000 * read,
                    cache_write_5m: 1_000 * written,
                    output_final: true,
                    ..Usage::default()
                });
            }
            facts.recorded_compactions = made.len() as u32;
            facts.receipt = Some(receipt);
        })
        .build()
}

fn prices() -> PriceList {
    PriceList::from(&manifest(&[]).prices)
}

fn exactly(value: f64) -> Quantity {
    Quantity { value, lo: value, hi: value, n: 9, own: false }
}

/// What a compaction changes: added, read again, calls.
fn changes(added: f64, read_again: f64, calls: f64) -> Quantities {
    Quantities {
        added: exactly(added),
        cached: exactly(15_000.0),
        output: exactly(2_000.0),
        read_again: exactly(read_again),
        calls: exactly(calls),
        wait_ms: exactly(60_000.0),
    }
}

/// Millionths of a dollar and compactions, today and at a size.
fn walked(facts: &SessionFacts, size: u64, changes: &Quantities) -> [(i64, u64); 2] {
    let prices = prices();
    let mut track = Track::of(0, facts, &prices).unwrap();
    track.begin_with(0.0);
    let amounts = Amounts { added: changes.added.value, read_again: changes.read_again.value };
    [track.walk(changes, None), track.walk(changes, Some((size, amounts)))]
        .map(|walked| ((walked.usd * 1e6).round() as i64, walked.compactions))
}

/// Today 20k are written (25,000), 540k are read (54,000) and nine times 10k written (112,500).
/// At 80k the eighth prompt is too large. Up to there 127,000. The call reads 80k, writes 10k and
/// its instruction of 1k, and puts out 2k: 31,750. The next prompt has 20k + 30k + 5k, of which
/// 15k are read and 40k written: 51,500; two calls read it: 11,000. Then 65k and 75k, of each 10k
/// written: 18,000 and 19,000.
#[test]
fn compaction_at_a_size_is_billed_as_worked_out_by_hand() {
    let facts = session("s", &growing(10), &[]);
    let [today, at] = walked(&facts, 80_000, &changes(30_000.0, 5_000.0, 2.0));
    assert_eq!((today, at), ((191_500, 0), (258_250, 1)));
    let [_, unchanged] = walked(&facts, 110_000, &changes(30_000.0, 5_000.0, 2.0));
    assert_eq!(unchanged, today, "no prompt is larger");
}

/// Prompts of 20k to 90k, a compaction to 40k, 50k and 60k. Today's compaction has no call on
/// record: it reads 90k, writes 1k and puts out 2k: 20,250.
fn compacted(trigger: RecordedTrigger) -> SessionFacts {
    let behind = [(15, 25), (40, 10), (50, 10)];
    session("s", &[growing(8), behind.to_vec()].concat(), &[(8, trigger)])
}

/// At 60k the prompt of 70k becomes 30k; the recorded compaction at 95k finds 55k and is not
/// needed; the next prompt would have 65k and is compacted.
#[test]
fn recorded_automatic_compaction_is_skipped_where_the_context_is_smaller() {
    let changes = changes(10_000.0, 0.0, 0.0);
    let [today, at] = walked(&compacted(RecordedTrigger::Auto), 60_000, &changes);
    assert_eq!((today, at), ((234_500, 1), (247_250, 2)));
    let [_, unknown] = walked(&compacted(RecordedTrigger::Unknown), 60_000, &changes);
    assert_eq!(unknown, at);
}

/// At 69k the prompt of 70k becomes 34k (89,000 before it, 29,750 for the call and 25,250), then
/// 44k and 54k (15,900 and 16,900). The recorded compaction at 95k finds 59k and is not needed: 54k
/// are read, 5k written (11,650). What it would have forgotten is not read again, 200 tokens a
/// request: the next prompt has 68.8k and fits, of which 58.8k are read (18,380), and the last has
/// 78.6k and is compacted: 68.6k read, 11k written, 2k put out (30,610), and 25,250.
#[test]
fn what_a_skipped_compaction_forgot_is_not_read_again() {
    let changes = changes(10_000.0, 4_000.0, 0.0);
    let [_, at] = walked(&compacted(RecordedTrigger::Auto), 69_000, &changes);
    assert_eq!(at, (262_690, 2));
}

/// It reads 50k in place of 90k (16,250), and everything behind it is as reported.
#[test]
fn recorded_manual_compaction_stays() {
    let changes = changes(10_000.0, 0.0, 0.0);
    let [_, at] = walked(&compacted(RecordedTrigger::Manual), 60_000, &changes);
    assert_eq!(at, (254_000, 2));
}

/// A fork that begins with a copy of eight requests: the copied ones fill its context, and what
/// is compacted there is another one's.
#[test]
fn copied_requests_of_a_fork_are_walked_and_not_billed() {
    let mut facts = session("s", &growing(10), &[]);
    let copied: Vec<RequestFacts> = facts.requests.drain(..8).collect();
    facts.receipt.as_mut().unwrap().copied = copied;
    let [today, at] = walked(&facts, 80_000, &changes(30_000.0, 5_000.0, 2.0));
    // 90k and 100k are read today, and 10k written behind each.
    assert_eq!((today, at), ((44_000, 0), (37_000, 0)));
}

/// Half an hour later only 15k were still cached.
#[test]
fn lost_cache_stays_lost_where_the_prompt_is_smaller() {
    let mut requests = growing(10);
    requests[9] = (15, 95);
    let facts = session("s", &requests, &[]);
    let [today, at] = walked(&facts, 80_000, &changes(30_000.0, 5_000.0, 2.0));
    // 15k read, 95k written; of the 75k that are left 15k read and 60k written.
    assert_eq!(today.0, 191_500 - 22_500 + 1_500 + 118_750);
    assert_eq!(at.0, 258_250 - 19_000 + 1_500 + 75_000);
}

fn run(agent: &str) -> Manifest {
    Manifest { agent: Some(agent.to_owned()), ..manifest(&["native"]) }
}

fn sessions(n: usize, requests: u64) -> Vec<SessionFacts> {
    (0..n).map(|at| session(&format!("s{at}"), &growing(requests), &[])).collect()
}

#[test]
fn without_an_answer_the_reason_is_told() {
    let of = |manifest: &Manifest, facts: &[SessionFacts]| {
        curve(manifest, facts, &prices()).expect_err("no curve")
    };
    let claude = run("claude-code");
    assert_eq!(of(&manifest(&[]), &sessions(6, 30)), NoCurve::Agents);
    assert_eq!(of(&claude, &sessions(2, 30)), NoCurve::Few { families: 2 });
    assert_eq!(
        of(&run("opencode"), &sessions(6, 30)),
        NoCurve::NoSetting { agent: "opencode".into() }
    );
    assert_eq!(
        of(&run("gemini-cli"), &sessions(6, 30)),
        NoCurve::Unmeasured { agent: "gemini-cli".into(), compactions: 0 }
    );
    // Nine tenths of 80k are less than 20k + 13.4k + 30k, or than the setting takes.
    assert_eq!(of(&claude, &sessions(6, 7)), NoCurve::Short { largest: 80_000, least: 63_400 });
    let mut silent = sessions(3, 30);
    silent.iter_mut().flat_map(|one| &mut one.requests).for_each(|one| one.recorded = None);
    assert_eq!(of(&claude, &silent), NoCurve::NoUsage);
    let mut unpriced = sessions(3, 30);
    unpriced.iter_mut().for_each(|one| one.model = Some("none".into()));
    assert!(matches!(of(&claude, &unpriced), NoCurve::NoPrice { why } if why.contains("none")));
}

#[test]
fn sessions_without_a_price_are_left_out_and_named() {
    let mut facts = sessions(4, 30);
    facts[1].model = Some("none".into());
    let curve = curve(&run("claude-code"), &facts, &prices()).unwrap();
    assert_eq!((curve.sessions, curve.requests), (3, 90));
    assert_eq!(curve.left_out.len(), 1);
    assert_eq!(curve.left_out[0].0, "s1");
}

/// A subagent's conversation costs as much at every size: 20k written are 25,000. Without a price
/// its session has none.
#[test]
fn subagents_are_added_to_their_session_at_every_size() {
    let mut facts = sessions(3, 30);
    facts.push(session("s0#sidechain-1", &[(0, 20)], &[]));
    let rows = |facts: &[SessionFacts]| {
        let curve = curve(&run("claude-code"), facts, &prices()).unwrap();
        (curve.sessions, curve.today_usd, curve.sizes[0].usd)
    };
    let (with, without) = (rows(&facts), rows(&facts[..3]));
    assert_eq!(with.0, 3);
    for (more, less) in [(with.1, without.1), (with.2, without.2)] {
        assert!((more - less - 0.025).abs() < 1e-9, "{more} {less}");
    }
    facts.insert(3, session("s3", &growing(30), &[]));
    facts[4].model = Some("none".into());
    let left = curve(&run("claude-code"), &facts, &prices()).unwrap();
    assert_eq!((left.sessions, left.left_out[0].0.as_str()), (3, "s0"));
}

#[test]
fn sessions_that_share_history_are_one_family() {
    let mut facts = sessions(4, 30);
    for fork in &mut facts[..2] {
        fork.receipt.as_mut().unwrap().family = Some("f".into());
    }
    let curve = curve(&run("claude-code"), &facts, &prices()).unwrap();
    assert_eq!((curve.sessions, curve.families, curve.unit), (4, 3, "family"));
    let of = |n: usize| {
        let mut facts = sessions(6, 30);
        facts.iter_mut().enumerate().for_each(|(at, one)| {
            one.cluster = Some(format!("p{}", at % n));
        });
        super::curve(&run("claude-code"), &facts, &prices()).unwrap().unit
    };
    assert_eq!((of(5), of(6)), ("family", "project"));
}

#[test]
fn sizes_have_room_and_are_six_at_most() {
    let sizes = |manifest: &Manifest, requests| -> Vec<u64> {
        let curve = curve(manifest, &sessions(6, requests), &prices()).unwrap();
        curve.sizes.iter().map(|row| row.size / 1_000).collect()
    };
    let claude = run("claude-code");
    assert_eq!(sizes(&claude, 20), [80, 100, 115, 130, 150, 165]);
    // 115k, 150k and 165k lie between near ones.
    assert_eq!(sizes(&claude, 50), [80, 100, 130, 200, 300, 400]);
    let named = Manifest { compact_at: vec![250_000, 90_000, 90_000], ..claude };
    assert_eq!(sizes(&named, 20), [90, 250]);
}

/// A row that saves so much, with its lower ends.
fn row(saving: f64, lo: f64, lo_read_again: f64, dearer: u64) -> SizeRow {
    SizeRow {
        size: 0,
        usd: 1.0,
        saving,
        lo,
        hi: saving,
        lo_read_again,
        compactions: 0,
        cheaper: 0,
        dearer,
        no_room: 0,
        three_families: None,
        wait_ms: 0.0,
        line: None,
        by_session: Vec::new(),
    }
}

#[test]
fn largest_size_with_most_of_the_best_saving_is_advised() {
    let of = |rows: &[SizeRow]| advised(rows, 10);
    let sure = |saving| row(saving, 0.01, 0.01, 2);
    assert_eq!(of(&[sure(0.2), sure(0.17), sure(0.16)]), Ok(1), "0.17 is 85 % of 0.2");
    // What is not admissible does not set the mark.
    assert_eq!(of(&[row(0.4, -0.1, 0.1, 0), sure(0.2), sure(0.1)]), Ok(1));
    assert_eq!(of(&[row(0.2, 0.0, 0.1, 0)]), Err(Kept::Unsure));
    assert_eq!(of(&[row(0.2, 0.1, 0.0, 0)]), Err(Kept::ReadAgain));
    assert_eq!(of(&[row(0.2, 0.1, 0.1, 3)]), Err(Kept::ManyDearer));
    assert_eq!(of(&[row(0.05, 0.01, 0.01, 0)]), Err(Kept::Small));
    assert_eq!(of(&[row(-0.1, -0.2, -0.2, 0)]), Err(Kept::NoSaving));
}

/// Three compactions from 20k to 40k and one, in another session, to 100k.
#[test]
fn own_quantities_are_taken_from_three_compactions_on() {
    let auto = RecordedTrigger::Auto;
    let behind = |kept: u64| vec![(15, kept - 15), (kept, 10)];
    let one = |id: &str, kept| session(id, &[growing(8), behind(kept)].concat(), &[(8, auto)]);
    let facts = [one("a", 40), one("b", 42), one("c", 44), one("d", 40)];
    let quantities = |facts: &[SessionFacts]| {
        curve(&Manifest { compact_at: vec![80_000], ..run("claude-code") }, facts, &prices())
            .unwrap()
            .quantities
    };
    let four = quantities(&facts);
    assert_eq!((four.added.value, four.added.n, four.added.own), (21_000.0, 4, true));
    assert_eq!((four.cached.value, four.cached.own), (15_000.0, true));
    // Nobody made twenty requests before and behind one.
    assert_eq!((four.read_again.value, four.read_again.own), (8_700.0, false));
    let two = quantities(&[facts[0].clone(), facts[1].clone(), session("c", &growing(8), &[])]);
    assert_eq!((two.added.value, two.added.own), (13_400.0, false));
}

#[test]
fn recorded_compactions_tell_what_stood_around_them() {
    let facts = [compacted(RecordedTrigger::Auto)];
    let rows = recorded_compactions(&facts, &prices());
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((row.request, row.first, row.before), (8, Some(20_000), Some(90_000)));
    assert_eq!((row.behind, row.read, row.added()), (40_000, Some(15_000), Some(20_000.0)));
    assert_eq!((row.growth_before, row.growth_behind, row.calls()), (None, None, None));
}

/// Twenty requests before the last prompt, by 10k each, and twenty behind it, by 5k each.
#[test]
fn growth_of_twenty_requests_on_either_side_is_told() {
    let behind = (0..=20).map(|n| if n == 0 { (15, 25) } else { (35 + 5 * n, 5) });
    let prompts: Vec<Tokens> = growing(23).into_iter().chain(behind).collect();
    let grown = |prompts: &[Tokens], made: &[(u32, RecordedTrigger)]| {
        let rows = recorded_compactions(&[session("s", prompts, made)], &prices());
        rows.iter().map(|row| (row.growth_before, row.growth_behind)).collect::<Vec<_>>()
    };
    let at = (23, RecordedTrigger::Auto);
    assert_eq!(grown(&prompts, &[at]), [(Some(200_000), Some(100_000))]);
    // One request less on either side, or another compaction among them.
    assert_eq!(grown(&prompts[1..43], &[(22, at.1)]), [(Some(200_000), None)]);
    assert_eq!(grown(&prompts[3..], &[(20, at.1)]), [(None, Some(100_000))]);
    let two = [at, (40, at.1)];
    assert_eq!(grown(&prompts, &two), [(Some(200_000), None), (None, None)]);
}

/// What goes on from elsewhere begins with what others begin with: behind a compaction, with more
/// than any agent begins with, or with more than it has later.
#[test]
fn session_that_goes_on_begins_as_others_do() {
    let behind = session("behind", &growing(30), &[(0, RecordedTrigger::Auto)]);
    let large = session("large", &[&[(0, 90)][..], &growing(29)[7..]].concat(), &[]);
    let later = session("later", &[&[(0, 60)][..], &growing(29)].concat(), &[]);
    for odd in [&behind, &large, &later] {
        let facts = [session("a", &growing(30), &[]), session("b", &growing(30), &[]), odd.clone()];
        let prices = prices();
        let tracks = tracks(&facts, &prices).0;
        assert_eq!(tracks[2].first(), None, "{}", odd.session);
        assert_eq!(tracks[2].left(13_400.0), 33_400.0, "{}", odd.session);
    }
    // The compaction before the first request is another session's.
    let prices = prices();
    let mut track = Track::of(0, &behind, &prices).unwrap();
    track.begin_with(20_000.0);
    assert_eq!(track.walk(&changes(0.0, 0.0, 0.0), None).estimated, (0, 0.0));
}

/// Of six sessions one begins with 60k: at 80k it has no room, and that is counted.
#[test]
fn session_without_room_is_counted() {
    let mut facts = sessions(6, 20);
    facts[5] = session(
        "s5",
        &[&[(0, 60)][..], &(6..20).map(|n| (10 * n, 10)).collect::<Vec<_>>()].concat(),
        &[],
    );
    let curve = curve(&run("claude-code"), &facts, &prices()).unwrap();
    let rooms: Vec<(u64, u64)> = curve.sizes.iter().map(|row| (row.size, row.no_room)).collect();
    assert_eq!(rooms[..3], [(80_000, 1), (100_000, 1), (115_000, 0)]);
    let [.., last] = curve.sizes[0].by_session.as_slice() else { panic!() };
    assert!(!last.room);
}

/// Mean 0 and variance 1 of 100,000 draws, within five times their standard errors.
#[test]
fn draws_are_standard_normal() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let draws: Vec<f64> = (0..100_000).map(|_| standard_normal(&mut rng)).collect();
    let mean_of = |power| draws.iter().map(|draw| draw.powi(power)).sum::<f64>() / 1e5;
    assert!(mean_of(1).abs() < 0.016, "{}", mean_of(1));
    assert!((mean_of(2) - 1.0).abs() < 0.022, "{}", mean_of(2));
}
