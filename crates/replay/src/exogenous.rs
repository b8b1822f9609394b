//! Events in the recording's cache that the provider's rules do not predict:
//! losses, preambles that other sessions kept alive, and prefixes that lived
//! longer than the rules allow (reference §2).
//!
//! They are derived from recorded usage alone, so that they are replayed for
//! every strategy.
//!
//! A cache that stores prompts automatically (OpenAI's) reports no writes, and
//! a request may be answered by a machine that has seen only some of the
//! earlier requests: it reads less than the last prompt.

use std::collections::BTreeSet;

use super::bill::{life, written_for};
use recap_core::model::{Exogenous, RecordedCompaction, RequestFacts, Usage};

/// Share of the predicted prefix below which a request lost some of it.
const COLD: f64 = 0.9;

/// What a session's cache is known by.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheParameters {
    /// Tokens of the preamble that are still read after a restart.
    pub global: Option<u64>,
    /// The step in tokens by which an automatic cache grows: so much less than the
    /// last prompt is read of it anyway.
    pub step: u64,
}

/// Marks the requests whose cache differs from what the earlier requests
/// predict.
///
/// Each model has a cache of its own.
pub(super) fn mark(
    requests: &mut [RequestFacts],
    compactions: &[RecordedCompaction],
    known: CacheParameters,
) {
    let models: BTreeSet<u32> = requests.iter().map(|request| request.model).collect();
    for model in models {
        let own = requests.iter_mut().filter(|request| request.model == model);
        mark_one(own.collect(), compactions, known);
    }
}

/// A request with usage, and what the cache held after it.
#[derive(Clone, Copy)]
struct Before {
    request: RequestFacts,
    usage: Usage,
    cached: u64,
}

/// Marks the requests to one model.
fn mark_one(
    requests: Vec<&mut RequestFacts>,
    compactions: &[RecordedCompaction],
    known: CacheParameters,
) {
    let life = life(requests.iter().map(|request| &**request));
    let marked = requests.iter().filter_map(|r| r.recorded).any(|usage| usage.written() > 0);
    let mut last: Option<Before> = None;
    for request in requests {
        request.exogenous = None;
        let reported = request.recorded.filter(|usage| request.billed && !usage.cache_unknown);
        let Some(usage) = reported else { continue };
        let edited = |before: &Before| {
            let before = before.request.message;
            compactions.iter().any(|c| before < c.after && c.after <= request.message)
        };
        let was_edited = last.as_ref().is_some_and(edited);
        request.exogenous = match last {
            Some(_) if was_edited => behind_a_compaction(&usage, marked, known.global),
            Some(before) if before.cached > 0 => {
                let life = written_for(&before.usage).unwrap_or(life);
                let idle = request.at.duration_since(before.request.at);
                let step = (!marked).then_some(known.step);
                in_between(&usage, &before, step, idle > life.duration())
            }
            // Nothing of this session is there.
            _ => shared(&usage),
        };
        // A cache that stores prompts automatically keeps the whole prompt.
        let cached = if marked { usage.cache_read + usage.written() } else { usage.prompt() };
        last = Some(Before { request: *request, usage, cached });
    }
}

/// What was read where this session has nothing in the cache.
fn shared(usage: &Usage) -> Option<Exogenous> {
    Some(Exogenous::Shared { read: usage.cache_read }).filter(|_| usage.cache_read > 0)
}

/// After the recorded agent's own compaction only the preamble can be read; if even the
/// preamble was not read, the compaction is not the cause.
fn behind_a_compaction(usage: &Usage, marked: bool, global: Option<u64>) -> Option<Exogenous> {
    let read = usage.cache_read;
    let cold = global.is_some_and(|global| (read as f64) < COLD * global as f64);
    let cold = cold || !marked && read == 0;
    if cold { Some(Exogenous::Lost { left: read }) } else { shared(usage) }
}

/// What happened to the cache between two requests. `step`: that of an automatic
/// cache; `None` for one with breakpoints.
fn in_between(
    usage: &Usage,
    before: &Before,
    step: Option<u64>,
    expired: bool,
) -> Option<Exogenous> {
    let (read, prompt) = (usage.cache_read, usage.prompt());
    // A prompt that shrank was edited (Codex drops old reasoning): it cannot
    // read more than itself.
    let known = before.cached.min(prompt);
    let lost = match step {
        Some(step) => read + step < known,
        None => (read as f64) < COLD * known as f64,
    };
    if lost {
        return Some(Exogenous::Lost { left: read });
    }
    if step.is_none() && 2 * read > prompt + known {
        return Some(Exogenous::Repeated);
    }
    expired.then_some(Exogenous::Renewed)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    /// Requests one second apart, each with the tokens that it read, wrote and
    /// sent uncached.
    fn requests(usage: &[(u64, u64, u64)]) -> Vec<RequestFacts> {
        let request = |(n, &(read, written, input)): (usize, &(u64, u64, u64))| RequestFacts {
            message: n as u32,
            tokens_full: 0,
            output: 0,
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

    fn known(global: Option<u64>) -> CacheParameters {
        CacheParameters { global, step: 128 }
    }

    fn found(usage: &[(u64, u64, u64)]) -> Vec<Option<Exogenous>> {
        let mut requests = requests(usage);
        mark(&mut requests, &[], known(None));
        requests.iter().map(|request| request.exogenous).collect()
    }

    fn lost(left: u64) -> Option<Exogenous> {
        Some(Exogenous::Lost { left })
    }

    fn shared(read: u64) -> Option<Exogenous> {
        Some(Exogenous::Shared { read })
    }

    #[test]
    fn lost_cache_leaves_the_tokens_that_were_read() {
        // 20,000 tokens are sent; then 70 % of them are read, then only the
        // tools, then nothing: in an automatic cache and in one that is marked.
        let usage = [(0, 0, 20_000), (14_000, 0, 7_000), (2_000, 0, 20_000), (0, 0, 23_000)];
        assert_eq!(found(&usage), [None, lost(14_000), lost(2_000), lost(0)]);
        let usage = [(0, 20_000, 0), (14_000, 7_000, 0), (2_000, 20_000, 0), (0, 23_000, 0)];
        assert_eq!(found(&usage), [None, lost(14_000), lost(2_000), lost(0)]);
    }

    #[test]
    fn over_one_unread_step_is_automatic_cache_loss() {
        // The third request reads the prompt of the first, rounded down to a
        // step of 128: a machine that had not seen the second answered it.
        let usage = [(0, 0, 10_000), (9_984, 0, 5_000), (9_984, 0, 8_000), (17_920, 0, 100)];
        assert_eq!(found(&usage), [None, None, lost(9_984), None]);
        let second = |read| found(&[(0, 0, 10_000), (read, 0, 5_000)])[1];
        assert_eq!((second(9_872), second(9_871)), (None, lost(9_871)));
        // After a recorded compaction the last prompt is not read.
        let mut behind = requests(&usage[..3]);
        let compaction = RecordedCompaction { after: 2, ..RecordedCompaction::default() };
        mark(&mut behind, &[compaction], known(None));
        assert_eq!(behind[2].exogenous, shared(9_984));
    }

    #[test]
    fn each_model_has_a_cache_of_its_own() {
        let usage = [(0, 1_000, 0), (0, 1_200, 0), (1_000, 400, 0), (0, 1_500, 0)];
        let mut requests = requests(&usage);
        (requests[1].model, requests[3].model) = (1, 1);
        mark(&mut requests, &[], known(None));
        let events: Vec<_> = requests.iter().map(|request| request.exogenous).collect();
        // The first request to another model reads nothing, which is not an
        // event. The second one could have read what the first one wrote.
        assert_eq!(events, [None, None, None, lost(0)]);
    }

    #[test]
    fn a_prompt_that_shrank_reads_at_most_itself() {
        // 15,000 of 20,000 tokens are below nine tenths, but are the whole
        // prompt that was sent.
        for usage in [[(0, 0, 20_000), (15_000, 0, 100)], [(0, 20_000, 0), (15_000, 100, 0)]] {
            assert_eq!(found(&usage), [None, None]);
        }
    }

    #[test]
    fn entry_read_after_its_own_lifetime_was_renewed() {
        let after = |seconds: i64, hour: u64| {
            let mut requests = requests(&[(0, 20_000, 0), (20_000, 500, 0), (20_500, 9_000, 0)]);
            requests.truncate(2);
            requests[1].at = Timestamp::from_second(seconds).unwrap();
            requests[0].recorded.as_mut().unwrap().cache_write_1h = hour;
            mark(&mut requests, &[], known(None));
            requests[1].exogenous
        };
        // It lives for five minutes.
        assert_eq!(after(300, 0), None);
        assert_eq!(after(301, 0), Some(Exogenous::Renewed));
        // One that was written for an hour lives for that.
        let mut hour = requests(&[(0, 0, 0), (20_000, 500, 0), (20_500, 600, 0)]);
        let written = Usage { cache_write_1h: 20_000, ..Usage::default() };
        hour[0].recorded = Some(written);
        hour[1].at = Timestamp::from_second(3_600).unwrap();
        hour[2].at = Timestamp::from_second(3_901).unwrap();
        mark(&mut hour, &[], known(None));
        assert_eq!(hour[1].exogenous, None);
        assert_eq!(hour[2].exogenous, Some(Exogenous::Renewed), "written for five minutes");
    }

    #[test]
    fn session_begins_with_preamble_cached_by_others() {
        let first = |read| found(&[(read, 1_000, 0)])[0];
        assert_eq!(first(2_501), shared(2_501));
        assert_eq!(first(0), None, "the session began cold, as sessions do");
    }

    #[test]
    fn prompt_with_newest_part_read_was_sent_before() {
        // 500 tokens are new; 251 of them were read.
        let usage = |read| [(0, 20_000, 0), (read, 20_500 - read, 0)];
        assert_eq!(found(&usage(20_251)), [None, Some(Exogenous::Repeated)]);
        assert_eq!(found(&usage(20_250)), [None, None]);
        // An automatic cache also reads the answer.
        assert_eq!(found(&[(0, 0, 20_000), (20_400, 0, 100)]), [None, None]);
    }

    #[test]
    fn aborted_request_has_no_event_and_keeps_cache() {
        let mut requests = requests(&[(0, 20_000, 0), (0, 0, 7), (0, 20_500, 0), (20_500, 9, 0)]);
        requests[1].billed = false;
        mark(&mut requests, &[], known(None));
        let events: Vec<_> = requests.iter().map(|request| request.exogenous).collect();
        assert_eq!(events, [None, None, lost(0), None]);
    }

    #[test]
    fn cache_is_lost_below_nine_tenths_read() {
        // 20,000 and 500 tokens are in the cache: 18,450 are nine tenths.
        let third = |read| found(&[(0, 20_000, 0), (20_000, 500, 0), (read, 3_000, 0)])[2];
        assert_eq!(third(18_450), None);
        assert_eq!(third(18_449), lost(18_449));
    }

    #[test]
    fn compaction_between_requests_explains_unread_tokens() {
        let second = |usage: &[(u64, u64, u64)], after: u32, global| {
            let mut requests = requests(usage);
            let compaction = RecordedCompaction { after, ..RecordedCompaction::default() };
            mark(&mut requests, &[compaction], known(global));
            requests[1].exogenous
        };
        let base = [(0, 20_000, 0), (2_000, 5_000, 0)];
        assert_eq!(second(&base, 0, Some(2_000)), lost(2_000), "before the first request");
        assert_eq!(second(&base, 1, Some(2_000)), shared(2_000));
        assert_eq!(second(&base, 2, Some(2_000)), lost(2_000), "after the second request");
        // Not even the part that other sessions keep alive was read; where none is
        // known, only a cache without writes tells.
        let marked = [(0, 20_000, 0), (0, 5_000, 0)];
        assert_eq!(second(&marked, 1, Some(2_000)), lost(0));
        assert_eq!(second(&marked, 1, Some(0)), None);
        assert_eq!(second(&marked, 1, None), None);
        assert_eq!(second(&[(0, 0, 20_000), (0, 0, 5_000)], 1, None), lost(0));
        assert_eq!(second(&[(0, 0, 20_000), (500, 0, 5_000)], 1, None), shared(500));
    }

    #[test]
    fn an_empty_cache_is_not_renewed() {
        let mut requests = requests(&[(0, 0, 500), (0, 1_000, 0)]);
        requests[1].at = Timestamp::from_second(900).unwrap();
        mark(&mut requests, &[], known(None));
        assert_eq!(requests[1].exogenous, None);
    }
}
