//! Events in the recording's cache that the provider's rules do not predict:
//! cold starts, restarts, and prefixes that lived longer than the rules allow
//! (measures §2).
//!
//! They are derived from recorded usage alone, so that they are replayed for
//! every preset.
//!
//! A cache that stores prompts automatically (OpenAI's) reports no writes, and
//! a request may be answered by a machine that has seen only some of the
//! earlier requests. In sessions of Codex and OpenCode, such a request reads
//! the prompt of an earlier request, rounded down to a step of 128 tokens. Of
//! the possible states (nothing, only the tools, the prompt of an earlier
//! request, all of the last prompt) the nearest to the reported number is
//! replayed.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::bill::life;
use crate::model::{Exogenous, RecordedCompaction, RequestFacts, Usage};

/// Share of the predicted prefix below which a request counts as a cold start.
const COLD: f64 = 0.9;
/// Tolerance in tokens between a prompt and the part of it that was read:
/// caches grow by steps of 128, and the last complete step is sometimes
/// missing.
const SLACK: u64 = 256;

/// Marks the requests whose cache differs from what the earlier requests
/// predict. `hidden`: tokens of the hidden preamble; `global`: the part of them
/// that survives a restart.
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

/// Marks the requests to one model.
fn mark_one(
    requests: &mut [RequestFacts],
    compactions: &[RecordedCompaction],
    hidden: u64,
    global: Option<u64>,
) {
    let life = life(requests);
    // The size and time of the cached prefix after the last request with usage.
    let mut last: Option<(u64, &RequestFacts)> = None;
    // Size and time of the prompts since the last recorded compaction.
    let mut sent: Vec<(u64, Timestamp)> = Vec::new();
    // For a cache without explicit breakpoints: the nearest of its earlier
    // states.
    let nearest = |read: u64, all: u64, sent: &[(u64, Timestamp)]| {
        let former = sent.iter().rev().find(|(prompt, _)| *prompt <= read + SLACK);
        let former = former.map(|&(prompt, at)| (prompt, Some(Exogenous::Former { at })));
        let shared = global.filter(|global| *global > 0);
        let states = [(all, None), (0, Some(Exogenous::Cold))].into_iter();
        let states = states.chain(shared.map(|tokens| (tokens, Some(Exogenous::Restart))));
        let states = states.chain(former);
        // Of equally near states the smallest one, which assumes less.
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
        let told = request.recorded.filter(|usage| request.billed && !usage.cache_unknown);
        let Some(usage) = told else {
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
            // After the vendor's own compaction only the preamble can be read;
            // if even the preamble was not read, the compaction is not the
            // cause.
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

    /// Requests one second apart, each with the tokens that it read, wrote and
    /// sent uncached.
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
    fn an_automatic_cache_that_lost_a_part_is_not_a_cold_start() {
        // 20,000 tokens are sent; then 70 % of them are read, then only the
        // tools, then nothing.
        let usage = [(0, 0, 20_000), (14_000, 0, 7_000), (2_000, 0, 20_000), (0, 0, 23_000)];
        let restart = Some(Exogenous::Restart);
        assert_eq!(found(&usage, Some(2_000)), [None, None, restart, Some(Exogenous::Cold)]);
        // The half-way point between the global part and the whole prompt:
        // between 2,000 and 20,000.
        let half = |read| found(&[(0, 0, 20_000), (read, 0, 20_000)], Some(2_000))[1];
        assert_eq!((half(11_000), half(11_001)), (restart, None));
    }

    #[test]
    fn an_automatic_cache_may_have_the_state_after_an_earlier_request() {
        // The third request reads the prompt of the first, rounded down to a
        // step of 128.
        let usage = [(0, 0, 10_000), (9_984, 0, 5_000), (9_984, 0, 8_000), (17_920, 0, 100)];
        let at = Timestamp::from_second(0).unwrap();
        let former = Some(Exogenous::Former { at });
        assert_eq!(found(&usage, None), [None, None, former, None]);
        // After the vendor's compaction no earlier prompt is read.
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
        // The first request to another model reads nothing, which is not an
        // event. The second one could have read what the first one wrote.
        assert_eq!(events, [None, None, None, Some(Exogenous::Cold)]);
    }

    #[test]
    fn a_marked_cache_that_lost_a_part_was_restarted() {
        let usage = [(0, 20_000, 0), (14_000, 7_000, 0)];
        assert_eq!(found(&usage, Some(2_000)), [None, Some(Exogenous::Restart)]);
        assert_eq!(found(&usage, None), [None, Some(Exogenous::Cold)]);
    }

    #[test]
    fn a_prompt_that_shrank_reads_at_most_itself() {
        // 15,000 of 20,000 tokens are below nine tenths, but are the whole
        // prompt that was sent.
        for usage in [[(0, 0, 20_000), (15_000, 0, 100)], [(0, 20_000, 0), (15_000, 100, 0)]] {
            assert_eq!(found(&usage, Some(2_000)), [None, None]);
        }
    }

    #[test]
    fn an_entry_is_renewed_only_if_it_was_read_after_more_than_its_life() {
        let after = |seconds: i64| {
            let mut requests = requests(&[(0, 20_000, 0), (20_000, 500, 0)]);
            requests[1].at = Timestamp::from_second(seconds).unwrap();
            mark(&mut requests, &[], 3_000, None);
            requests[1].exogenous
        };
        // It lives for five minutes.
        assert_eq!(after(300), None);
        assert_eq!(after(301), Some(Exogenous::Renewed));
    }

    #[test]
    fn a_session_that_begins_with_more_than_half_of_its_preamble_read_was_primed() {
        // 3,000 hidden tokens, of which 2,000 survive a restart: half-way is 2,500.
        let first = |read| found(&[(read, 1_000, 0)], Some(2_000))[0];
        assert_eq!(first(2_501), Some(Exogenous::Primed));
        assert_eq!(first(2_500), Some(Exogenous::Restart));
        assert_eq!(first(1_800), Some(Exogenous::Restart), "nine tenths of it");
        assert_eq!(first(1_799), None, "the session began cold, as sessions do");
    }

    #[test]
    fn an_aborted_request_has_no_event_and_leaves_the_cache_as_it_was() {
        let mut requests = requests(&[(0, 20_000, 0), (0, 0, 7), (0, 20_500, 0), (20_500, 9, 0)]);
        requests[1].billed = false;
        mark(&mut requests, &[], 3_000, None);
        let events: Vec<_> = requests.iter().map(|request| request.exogenous).collect();
        assert_eq!(events, [None, None, Some(Exogenous::Cold), None]);
    }

    #[test]
    fn nine_tenths_of_what_was_read_and_written_must_be_read() {
        // 20,000 and 500 tokens are in the cache: 18,450 are nine tenths.
        let third = |read| found(&[(0, 20_000, 0), (20_000, 500, 0), (read, 3_000, 0)], None)[2];
        assert_eq!(third(18_450), None);
        assert_eq!(third(18_449), Some(Exogenous::Cold));
        // Nothing is nine tenths of nothing, and yet a cold start.
        assert_eq!(found(&[(0, 9_000, 0), (0, 9_000, 0)], Some(0))[1], Some(Exogenous::Cold));
    }

    #[test]
    fn a_compaction_between_two_requests_explains_what_was_not_read() {
        let second = |usage: &[(u64, u64, u64)], after: u32, global| {
            let mut requests = requests(usage);
            let compaction = RecordedCompaction { after, ..RecordedCompaction::default() };
            mark(&mut requests, &[compaction], 3_000, global);
            requests[1].exogenous
        };
        let restart = Some(Exogenous::Restart);
        let base = [(0, 20_000, 0), (2_000, 5_000, 0)];
        assert_eq!(second(&base, 0, Some(2_000)), restart, "before the first request");
        assert_eq!(second(&base, 1, Some(2_000)), None);
        assert_eq!(second(&base, 2, Some(2_000)), restart, "after the second request");
        // Not even the part that other sessions keep alive was read; where none is
        // known, only a cache without writes tells.
        let cold = Some(Exogenous::Cold);
        let marked = [(0, 20_000, 0), (0, 5_000, 0)];
        assert_eq!(second(&marked, 1, Some(2_000)), cold);
        assert_eq!(second(&marked, 1, Some(0)), None);
        assert_eq!(second(&marked, 1, None), None);
        assert_eq!(second(&[(0, 0, 20_000), (0, 0, 5_000)], 1, None), cold);
        assert_eq!(second(&[(0, 0, 20_000), (500, 0, 5_000)], 1, None), None);
    }

    #[test]
    fn an_empty_cache_is_not_renewed() {
        let mut requests = requests(&[(0, 0, 500), (0, 1_000, 0)]);
        requests[1].at = Timestamp::from_second(900).unwrap();
        mark(&mut requests, &[], 3_000, None);
        assert_eq!(requests[1].exogenous, None);
    }

    #[test]
    fn an_earlier_prompt_may_be_read_up_to_256_tokens_short() {
        let third = |read| found(&[(0, 0, 10_000), (9_984, 0, 5_000), (read, 0, 8_000)], None)[2];
        let at = Timestamp::from_second(0).unwrap();
        assert_eq!(third(9_744), Some(Exogenous::Former { at }));
        // The whole last prompt, 14,984, is nearer than none of it.
        assert_eq!(third(9_743), None);
    }
}
