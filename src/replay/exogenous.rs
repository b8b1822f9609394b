//! Events in the recording's cache that the provider's rules do not predict:
//! cold starts, restarts, and prefixes that lived longer than the rules allow
//! (measures §2).
//!
//! They are derived from recorded usage alone, so that they are replayed for
//! every preset.
//!
//! A cache that stores prompts automatically (OpenAI's) reports no writes, and
//! a request may be answered by a machine that has seen only some of the
//! earlier ones: what Codex and OpenCode sessions read is then, to the step of
//! 128 tokens, the prompt of an earlier request. Of the possible states
//! (nothing, the tools alone, an earlier request's prompt, all of the last one)
//! the nearest is replayed.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::bill::life;
use crate::model::{Exogenous, RecordedCompaction, RequestFacts, Usage};

/// Share of the predicted prefix below which a request counts as a cold start.
const COLD: f64 = 0.9;
/// Tolerance in tokens between a prompt and what was read of it: caches grow by
/// steps of 128, and the last whole one is not always there.
const SLACK: u64 = 256;

/// Marks the requests whose cache differs from what the requests before
/// predict. `hidden`: tokens of the hidden preamble; `global`: those of them
/// that survive a restart.
///
/// Each model has a cache of its own.
pub(super) fn mark(
    requests: &mut [RequestFacts],
    compactions: &[RecordedCompaction],
    hidden: u64,
    global: Option<u64>,
) {
    let models: BTreeSet<u32> = requests.iter().map(|request| request.model).collect();
    for model in models {
        let own = |request: &RequestFacts| request.model == model;
        let mut of_model: Vec<RequestFacts> = requests.iter().filter(|r| own(r)).copied().collect();
        mark_one(&mut of_model, compactions, hidden, global);
        for (request, marked) in requests.iter_mut().filter(|r| own(r)).zip(of_model) {
            request.exogenous = marked.exogenous;
        }
    }
}

/// The same for the requests to one model.
fn mark_one(
    requests: &mut [RequestFacts],
    compactions: &[RecordedCompaction],
    hidden: u64,
    global: Option<u64>,
) {
    let life = life(requests);
    // What was cached after the last request with usage, and when.
    let mut last: Option<(u64, &RequestFacts)> = None;
    // Prompts since the last recorded compaction, and when they were sent.
    let mut sent: Vec<(u64, Timestamp)> = Vec::new();
    // For a cache without explicit breakpoints: the nearest state that it was
    // ever in.
    let nearest = |read: u64, all: u64, sent: &[(u64, Timestamp)]| {
        let former = sent.iter().rev().find(|(prompt, _)| *prompt <= read + SLACK);
        let former = former.map(|&(prompt, at)| (prompt, Some(Exogenous::Former { at })));
        let shared = global.filter(|global| *global > 0);
        let states = [(all, None), (0, Some(Exogenous::Cold))].into_iter();
        let states = states.chain(shared.map(|tokens| (tokens, Some(Exogenous::Restart))));
        let states = states.chain(former);
        // Of equally near states the smallest, which assumes less.
        states.min_by_key(|(tokens, _)| (tokens.abs_diff(read), *tokens)).and_then(|(_, e)| e)
    };
    let restarted = |read: u64| match global {
        Some(global) if read as f64 >= COLD * global as f64 && read > 0 => Exogenous::Restart,
        _ => Exogenous::Cold,
    };
    // A prompt that shrank was edited (Codex drops old reasoning): it cannot
    // read more than itself.
    let known = |cached: u64, usage: &Usage| cached.min(usage.prompt());
    let marked = requests.iter().filter_map(|r| r.recorded).any(|usage| usage.written() > 0);
    let mut found: Vec<Option<Exogenous>> = Vec::with_capacity(requests.len());
    for request in requests.iter() {
        let Some(usage) = request.recorded.filter(|_| request.billed) else {
            found.push(None);
            continue;
        };
        let read = usage.cache_read;
        let edited = |before: &RequestFacts| {
            compactions.iter().any(|c| before.message < c.after && c.after <= request.message)
        };
        found.push(match last {
            // Other sessions may have kept the preamble alive before the session began.
            None => match restarted(read) {
                Exogenous::Restart if read > hidden.midpoint(global.unwrap_or(hidden)) => {
                    Some(Exogenous::Primed)
                }
                Exogenous::Restart => Some(Exogenous::Restart),
                _ => None,
            },
            // After the vendor's own compaction nothing but the preamble can be
            // read; that even this was not read is not due to the compaction.
            Some((_, before)) if edited(before) => {
                let shared = global.is_some_and(|global| global > 0);
                let cold = (shared || !marked && read == 0) && restarted(read) == Exogenous::Cold;
                cold.then_some(Exogenous::Cold)
            }
            Some((0, _)) => None,
            Some((cached, _)) if (read as f64) < COLD * known(cached, &usage) as f64 => {
                if marked {
                    Some(restarted(read))
                } else {
                    nearest(read, known(cached, &usage), &sent)
                }
            }
            Some((_, before)) => {
                let idle = request.at.duration_since(before.at);
                (idle > life.duration()).then_some(Exogenous::Renewed)
            }
        });
        if last.is_some_and(|(_, before)| edited(before)) {
            sent.clear();
        }
        sent.push((usage.prompt(), request.at));
        // A cache that stores prompts automatically keeps the whole prompt.
        let cached = if marked { read + usage.written() } else { usage.prompt() };
        last = Some((cached, request));
    }
    for (request, found) in requests.iter_mut().zip(found) {
        request.exogenous = found;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    /// Requests a second apart, by what they read, wrote and sent new.
    fn requests(usage: &[(u64, u64, u64)]) -> Vec<RequestFacts> {
        let request = |(n, &(read, written, input)): (usize, &(u64, u64, u64))| RequestFacts {
            message: n as u32,
            tokens_full: 0,
            output: 0,
            output_recorded: false,
            at: Timestamp::from_second(n as i64).unwrap(),
            recorded: Some(Usage {
                input,
                cache_read: read,
                cache_write_5m: written,
                ..Usage::default()
            }),
            billed: true,
            exogenous: None,
            model: 0,
        };
        usage.iter().enumerate().map(request).collect()
    }

    fn found(usage: &[(u64, u64, u64)], global: Option<u64>) -> Vec<Option<Exogenous>> {
        let mut requests = requests(usage);
        mark(&mut requests, &[], 3_000, global);
        requests.iter().map(|request| request.exogenous).collect()
    }

    #[test]
    fn an_automatic_cache_that_lost_a_part_is_no_cold_start() {
        // 20,000 sent; 70 % of it read; then only the tools; then nothing.
        let usage = [(0, 0, 20_000), (14_000, 0, 7_000), (2_000, 0, 20_000), (0, 0, 23_000)];
        let restart = Some(Exogenous::Restart);
        assert_eq!(found(&usage, Some(2_000)), [None, None, restart, Some(Exogenous::Cold)]);
        // Half-way between the global part and all of it: 2,000 and 20,000.
        let half = |read| found(&[(0, 0, 20_000), (read, 0, 20_000)], Some(2_000))[1];
        assert_eq!((half(11_000), half(11_001)), (restart, None));
    }

    #[test]
    fn an_automatic_cache_may_be_as_an_earlier_request_left_it() {
        // The third reads what the first had sent, to the step of 128.
        let usage = [(0, 0, 10_000), (9_984, 0, 5_000), (9_984, 0, 8_000), (17_920, 0, 100)];
        let at = Timestamp::from_second(0).unwrap();
        let former = Some(Exogenous::Former { at });
        assert_eq!(found(&usage, None), [None, None, former, None]);
        // Behind the vendor's compaction no earlier prompt is read.
        let mut behind = requests(&usage[..3]);
        let compaction = RecordedCompaction { after: 2, ..RecordedCompaction::default() };
        mark(&mut behind, &[compaction], 3_000, None);
        assert_eq!(behind[2].exogenous, None);
    }

    #[test]
    fn each_model_has_a_cache_of_its_own() {
        let usage = [(0, 1_000, 0), (0, 1_200, 0), (1_000, 400, 0), (0, 1_500, 0)];
        let mut requests = requests(&usage);
        (requests[1].model, requests[3].model) = (1, 1);
        mark(&mut requests, &[], 100, None);
        let events: Vec<_> = requests.iter().map(|request| request.exogenous).collect();
        // The first of another model reads nothing: no event. Its second one
        // could have read what its own first one wrote.
        assert_eq!(events, [None, None, None, Some(Exogenous::Cold)]);
    }

    #[test]
    fn a_marked_cache_that_lost_a_part_started_again() {
        let usage = [(0, 20_000, 0), (14_000, 7_000, 0)];
        assert_eq!(found(&usage, Some(2_000)), [None, Some(Exogenous::Restart)]);
        assert_eq!(found(&usage, None), [None, Some(Exogenous::Cold)]);
    }

    #[test]
    fn a_prompt_that_shrank_reads_no_more_than_itself() {
        // 15,000 of 20,000 are below nine tenths, but all of what was sent.
        for usage in [[(0, 0, 20_000), (15_000, 0, 100)], [(0, 20_000, 0), (15_000, 100, 0)]] {
            assert_eq!(found(&usage, Some(2_000)), [None, None]);
        }
    }
}
