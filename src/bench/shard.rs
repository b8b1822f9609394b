//! The part of a run's sessions that one of several processes replays.
//!
//! Every process reads the same inputs and settles the same comparison; only
//! then does each keep its own sessions. The parts are disjoint and complete,
//! and no process has to know of another one.

use crate::model::Shard;
use crate::run::Sample;

/// Bytes that a message adds to the estimated cost of its session beside its
/// text: the rows that are written for it.
const MESSAGE: u64 = 500;

/// The estimated cost of a session's cells: replaying is linear in the text and
/// in the number of messages, and every session has the same presets.
fn cost(sample: &Sample) -> u64 {
    let messages = &sample.transcript.messages;
    messages.iter().map(|message| message.sent().len() as u64 + MESSAGE).sum()
}

/// The number of the part of each session, from 1: the most expensive session
/// first, each to the part with least so far (longest processing time first,
/// Graham 1969).
fn assigned(costs: &[u64], of: u32) -> Vec<u32> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(costs[at]), at));
    let mut loads: std::collections::BTreeSet<(u64, u32)> = (1..=of).map(|n| (0, n)).collect();
    let mut parts = vec![0; costs.len()];
    for at in order {
        let (load, part) = loads.pop_first().expect("there is at least one part");
        parts[at] = part;
        loads.insert((load + costs[at], part));
    }
    parts
}

/// The sessions of a part, in their order, and its share of the estimated cost
/// of all (0 to 1).
pub(super) fn of_shard(samples: Vec<Sample>, shard: Shard) -> (Vec<Sample>, f64) {
    let costs: Vec<u64> = samples.iter().map(cost).collect();
    let parts = assigned(&costs, shard.of);
    let own = costs.iter().zip(&parts).filter(|(_, part)| **part == shard.index);
    let own: u64 = own.map(|(cost, _)| cost).sum();
    let all: u64 = costs.iter().sum();
    let kept = samples.into_iter().zip(parts).filter(|(_, part)| *part == shard.index);
    (kept.map(|(sample, _)| sample).collect(), own as f64 / all.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_most_expensive_session_goes_to_the_part_with_least() {
        // By hand: 9 to 1, 7 to 2, 6 to 3, 5 to 3 (6 is least), 2 to 2 (7), 1 to 1 (9 of 9, 9, 11).
        assert_eq!(assigned(&[5, 9, 2, 7, 1, 6], 3), [3, 1, 2, 2, 1, 3]);
        assert_eq!(assigned(&[5, 5], 3), [1, 2]);
        assert_eq!(assigned(&[], 3), [0; 0]);
    }

    proptest! {
        #[test]
        fn every_session_is_in_one_part_and_no_part_exceeds_the_bound(
            costs in prop::collection::vec(1u64..10_000, 0..200), of in 1u32..70,
        ) {
            let parts = assigned(&costs, of);
            prop_assert!(parts.iter().all(|part| (1..=of).contains(part)));
            let load = |n| -> u64 {
                costs.iter().zip(&parts).filter(|(_, p)| **p == n).map(|(c, _)| c).sum()
            };
            let (sum, most) = (costs.iter().sum::<u64>(), costs.iter().max().copied().unwrap_or(0));
            // Graham's bound: the mean load and one session more.
            for n in 1..=of {
                prop_assert!(load(n) <= sum / u64::from(of) + most);
            }
        }
    }
}
