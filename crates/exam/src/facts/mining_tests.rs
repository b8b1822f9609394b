//! Folders of a session, facts behind a cut, and what of them was used again; what is mined at all
//! stands in `tests/fixtures/scripts`.

use super::tests::{agent, talk, user};

#[test]
fn metadata_folders_are_roots_longest_first() {
    let mut t = talk(Vec::new());
    t.metadata = ["main", "/", "/w", "/w/shop", "w/p"].map(str::to_owned).to_vec();
    assert_eq!(super::mining::roots(&t), ["/w/shop", "/w"]);
}

/// A cut before request 1, message 3: two requests are looked at.
#[test]
fn facts_are_used_later_and_unsaid_since_cut() {
    let mut t = talk(vec![
        user("drainShardQueue leaseEpochGuard fluxCapacitorPort shardWardenLane laneKeeperSlot"),
        agent("tunnelDrainRate"),
        user("leaseEpochGuard, tunnel_drain_rate"),
        agent("drainShardQueue, leaseEpochGuard, laneKeeperSlot, tunnelDrainRate"),
        agent("fluxCapacitorPort, drainShardQueue"),
        agent("shardWardenLane"),
    ]);
    t.preamble.pinned = vec!["laneKeeperSlot".into()];
    let sizes = [10, 20, 30, 40, 50, 60];
    let kept = |message| super::CompactableMessage { message, cleared: false };
    let place = super::CutPlace {
        request: 1,
        requests: 2,
        left: 3,
        from: 2,
        last: 4,
        material: vec![kept(0), kept(1)],
        recorded: None,
    };
    let facts = super::Mining::new(&t, &sizes).facts_at(&place);
    let actual: Vec<_> = facts.iter().map(|fact| (fact.request, fact.text.as_str())).collect();
    assert_eq!(actual, [(1, "drainShardQueue"), (2, "fluxCapacitorPort")]);
    let fact = &facts[0];
    assert_eq!((fact.last_seen, fact.distance_tokens, fact.refetch), (0, 20, None));
    assert_eq!((&fact.sources[..], fact.reread), (&[0][..], false));
}

/// A compaction after three messages, with two requests behind it.
#[test]
fn each_identifier_used_again_is_counted_where_it_was() {
    let names = "drainShardQueue leaseEpochGuard fluxCapacitorPort shardWardenLane";
    let mut t = talk(vec![
        user(names),
        agent("I see."),
        user("keep tunnelDrainRate"),
        user("now: fluxCapacitorPort"),
        agent(&format!("{names}, tunnelDrainRate, neverSeenBefore")),
        agent("drainShardQueue again"),
    ]);
    t.compactions = vec![super::tests::cut(3, 2, "It drained drainShardQueue, tunnelDrainRate.")];
    let sizes = [10; 6];
    let place = super::places(&t, &sizes, super::Cuts::Recorded, 1).unwrap().remove(0);
    let mining = super::Mining::new(&t, &sizes);
    let again = mining.used_again(&place, &t.compactions[0]);
    // Two in the summary (the kept message has one of them, too), none in the kept message alone,
    // one that the user said again, and two of which the log shows nothing.
    assert_eq!((again.summary, again.kept, again.came_back, again.nowhere), (2, 0, 1, 2));
    t.compactions = vec![super::tests::cut(3, 2, "It went on.")];
    let mining = super::Mining::new(&t, &sizes);
    let again = mining.used_again(&place, &t.compactions[0]);
    assert_eq!((again.summary, again.kept, again.came_back, again.nowhere), (0, 1, 1, 3));
    assert_eq!(again.all(), 5);
}
