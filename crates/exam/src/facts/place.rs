//! Cuts: the places of a session at which a compaction is forced (how-it-works
//! §44). They depend on the session alone.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use recap_core::model::{
    MessageIndex, NoCut, Piece, REQUESTS_AROUND_CUT, RecordedCompaction, Session,
};

/// Fewest tokens of messages before a cut, for each unit of depth (how-it-works §44).
const LEAST_TOKENS: u64 = 4_000;
/// Most requests after a cut that are looked at (how-it-works §44).
const HORIZON: u32 = 40;

/// The places of a run's cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// No cuts at all.
    None,
    /// This many places, spread evenly over the session's tokens, and those at which the vendor's
    /// agent compacted.
    Spread(u32),
    /// At every request that allows it.
    All,
    /// The places at which the vendor's agent compacted.
    Recorded,
}

/// Most cuts of a session that can be asked for by number.
const MOST: u32 = 10_000;

impl std::str::FromStr for Cuts {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        match typed.trim() {
            "all" => Ok(Cuts::All),
            "recorded" => Ok(Cuts::Recorded),
            "none" => Ok(Cuts::None),
            number => match number.parse() {
                Ok(0) => Ok(Cuts::None),
                Ok(count @ 1..=MOST) => Ok(Cuts::Spread(count)),
                _ => Err(format!("write a number up to {MOST}, `all`, `recorded` or `none`")),
            },
        }
    }
}

impl std::fmt::Display for Cuts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cuts::None => f.write_str("none"),
            Cuts::Spread(count) => write!(f, "{count}"),
            Cuts::All => f.write_str("all"),
            Cuts::Recorded => f.write_str("recorded"),
        }
    }
}

/// A message that may be compacted at a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactableMessage {
    /// Its position in the session.
    pub message: MessageIndex,
    /// Whether its result had been cleared by then.
    pub cleared: bool,
}

/// A place at which a compaction is forced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutPlace {
    /// Ordinal of the first request after it.
    pub request: u32,
    /// Number of requests after it that are looked at.
    pub requests: u32,
    /// Number of requests from it to the next recorded compaction, or to the end
    /// of the session.
    pub left: u32,
    /// The first message that arrives after it.
    pub from: MessageIndex,
    /// The message of the last request that is looked at.
    pub last: MessageIndex,
    /// The messages that the recorded agent had before it: those since the last
    /// recorded boundary and those that it kept, ascending.
    pub material: Vec<CompactableMessage>,
    /// The position of the recorded compaction at this place; `None`: the
    /// recorded agent continued without one.
    pub recorded: Option<usize>,
}

impl CutPlace {
    /// Whether a message is part of the material, as recorded.
    pub fn holds(&self, message: MessageIndex) -> bool {
        self.kept(message).is_some_and(|at| !self.material[at].cleared)
    }

    /// Tokens of the material after a message of it. `sizes` holds the tokens
    /// of every message of the session.
    pub fn behind(&self, message: MessageIndex, sizes: &[u64]) -> u64 {
        let next = self.material.partition_point(|kept| kept.message <= message);
        self.material[next..].iter().map(|kept| sizes[kept.message as usize]).sum()
    }

    fn kept(&self, message: MessageIndex) -> Option<usize> {
        self.material.binary_search_by_key(&message, |kept| kept.message).ok()
    }
}

/// The cuts of a session, by request; or the reason why there are none.
pub type Places = Result<Vec<CutPlace>, NoCut>;

/// Finds the cuts. `sizes` holds the tokens of every message by the vocabulary,
/// `depth` says for how large a session the material must be enough.
///
/// # Errors
/// Why the session has no place for a cut, in a sentence without its name.
pub fn places(session: &Session, sizes: &[u64], cuts: Cuts, depth: u32) -> Places {
    let survey = Survey::new(session, sizes);
    let found = match cuts {
        Cuts::None => return Err(NoCut::NotAsked),
        Cuts::Recorded => survey.recorded(),
        Cuts::All => survey.spread(usize::MAX, depth),
        Cuts::Spread(count) if depth > 1 => survey.spread(count as usize, depth),
        Cuts::Spread(count) => survey.spread_and_recorded(count as usize, depth),
    };
    if !found.is_empty() {
        return Ok(found);
    }
    Err(match cuts {
        Cuts::Recorded => NoCut::NeverCompacted,
        _ => survey.why_none(depth),
    })
}

/// What the search for cuts needs of a session.
struct Survey<'a> {
    session: &'a Session,
    /// Messages of the requests, ascending.
    requests: Vec<MessageIndex>,
    /// The same, with those of the history that the session copied.
    responses: Vec<MessageIndex>,
    /// Tokens of the messages before each message, and of all of them.
    before: Vec<u64>,
    results: FxHashMap<String, MessageIndex>,
}

/// A request at which a cut is possible.
struct Candidate {
    request: u32,
    /// Tokens of the material.
    tokens: u64,
}

impl<'a> Survey<'a> {
    fn new(session: &'a Session, sizes: &[u64]) -> Self {
        let mut before = vec![0];
        before.extend(sizes.iter().scan(0, |sum, size| {
            *sum += size;
            Some(*sum)
        }));
        let results = session.calls().into_iter().filter_map(|c| Some((c.id, c.result?)));
        let results = results.collect();
        let (requests, responses) = (session.requests().collect(), session.responses().collect());
        Survey { session, requests, responses, before, results }
    }

    fn tokens(&self, from: MessageIndex, to: MessageIndex) -> u64 {
        self.before[to.max(from) as usize] - self.before[from as usize]
    }

    /// The boundaries that stand before a message, clearing ones included.
    fn boundaries(&self, message: MessageIndex) -> &'a [RecordedCompaction] {
        let all = &self.session.compactions;
        &all[..all.partition_point(|c| c.after <= message)]
    }

    /// The end of what may be looked at behind a message: the next boundary, or
    /// the end of the session.
    fn end(&self, message: MessageIndex) -> MessageIndex {
        let next = self.session.compactions.iter().find(|c| c.after > message);
        next.map_or(self.session.messages.len() as u32, |c| c.after)
    }

    /// Number of requests from one on to the next boundary, or to the end.
    fn left(&self, request: u32) -> u32 {
        let end = self.end(self.requests[request as usize]);
        self.requests.partition_point(|&message| message < end) as u32 - request
    }

    /// Number of requests from one on that are looked at.
    fn horizon(&self, request: u32) -> u32 {
        self.left(request).min(HORIZON)
    }

    /// Every request with enough messages and requests before it and after it.
    fn candidates(&self) -> Vec<Candidate> {
        let mut found = Vec::new();
        for (request, &message) in (0u32..).zip(&self.requests) {
            let boundary = self.boundaries(message).iter().rfind(|c| c.folds());
            let kept_from = boundary.map_or(0, |b| b.kept_from);
            let further_up = boundary.map_or(0, |b| self.further_up(b));
            let tokens = further_up + self.tokens(kept_from, message);
            let answered = |end| self.responses.partition_point(|&other| other < end) as u32;
            let enough = answered(message) - answered(kept_from) >= REQUESTS_AROUND_CUT
                && self.horizon(request) >= REQUESTS_AROUND_CUT
                && tokens >= LEAST_TOKENS;
            if enough {
                found.push(Candidate { request, tokens });
            }
        }
        found
    }

    /// Tokens of the messages before its tail that a boundary kept.
    fn further_up(&self, boundary: &RecordedCompaction) -> u64 {
        let pieces = boundary.pieces.iter().filter_map(|piece| match piece {
            Piece::Message(message) => Some(*message),
            Piece::Text { .. } => None,
        });
        let above = pieces.filter(|&message| message < boundary.kept_from);
        above.map(|message| self.tokens(message, message + 1)).sum()
    }

    /// The candidates nearest to even shares of the session's tokens.
    fn spread(&self, count: usize, depth: u32) -> Vec<CutPlace> {
        let least = LEAST_TOKENS * u64::from(depth);
        let candidates = self.candidates().into_iter().filter(|c| c.tokens >= least);
        let chosen = self.nearest(candidates.map(|c| c.request).collect(), count);
        chosen.into_iter().map(|request| self.place(request)).collect()
    }

    /// The same with every recorded compaction, by request. A place that is both is a recorded one.
    fn spread_and_recorded(&self, count: usize, depth: u32) -> Vec<CutPlace> {
        let mut all = self.recorded();
        let known: BTreeSet<u32> = all.iter().map(|place| place.request).collect();
        let spread = self.spread(count, depth).into_iter();
        all.extend(spread.filter(|place| !known.contains(&place.request)));
        all.sort_by_key(|place| place.request);
        all
    }

    /// For each of `count` even shares, the nearest candidate that is left.
    fn nearest(&self, candidates: Vec<u32>, count: usize) -> BTreeSet<u32> {
        if count >= candidates.len() {
            return candidates.into_iter().collect();
        }
        let all = self.before.last().copied().unwrap_or(0) as f64;
        let place = |request: u32| self.before[self.requests[request as usize] as usize] as f64;
        let mut left = candidates;
        let mut chosen = BTreeSet::new();
        for number in 0..count {
            let share = all * (number as f64 + 0.5) / count as f64;
            let distance = |request: u32| (place(request) - share).abs();
            let best =
                (0..left.len()).min_by(|&a, &b| distance(left[a]).total_cmp(&distance(left[b])));
            chosen.extend(best.map(|at| left.remove(at)));
        }
        chosen
    }

    /// A cut before a request.
    fn place(&self, request: u32) -> CutPlace {
        let from = self.requests[request as usize];
        let requests = self.horizon(request);
        CutPlace {
            request,
            requests,
            left: self.left(request),
            from,
            last: self.requests[(request + requests) as usize - 1],
            material: self.material(self.boundaries(from), from),
            recorded: None,
        }
    }

    /// A cut at every recorded compaction that a request follows, with the
    /// material before it.
    fn recorded(&self) -> Vec<CutPlace> {
        let all = &self.session.compactions;
        let folding = all.iter().enumerate().filter(|(_, c)| c.folds() && !c.copied);
        let place = |(at, compaction): (usize, &RecordedCompaction)| {
            let from = compaction.after;
            let request = self.requests.partition_point(|&message| message < from) as u32;
            let end = self.end(from);
            // Two boundaries without a request between them are the same place.
            self.requests.get(request as usize).filter(|&&message| message < end)?;
            let requests = self.horizon(request);
            let material = self.material(&all[..at], from);
            (!material.is_empty()).then(|| CutPlace {
                request,
                requests,
                left: self.left(request),
                from,
                last: self.requests[(request + requests) as usize - 1],
                material,
                recorded: Some(at),
            })
        };
        folding.filter_map(place).collect()
    }

    /// The messages before `end` that the recorded agent had after these
    /// boundaries. Results whose call is missing are left out, since no
    /// provider accepts them.
    fn material(
        &self,
        boundaries: &[RecordedCompaction],
        end: MessageIndex,
    ) -> Vec<CompactableMessage> {
        let boundary = boundaries.iter().rfind(|c| c.folds());
        let cleared: FxHashSet<MessageIndex> = boundaries
            .iter()
            .flat_map(|c| &c.cleared)
            .filter_map(|id| self.results.get(id).copied())
            .collect();
        let start = boundary.map_or(0, |b| {
            let pieces = b.pieces.iter().filter_map(|piece| match piece {
                Piece::Message(message) => Some(*message),
                Piece::Text { .. } => None,
            });
            pieces.chain([b.kept_from]).min().unwrap_or(b.kept_from)
        });
        let mut open: FxHashSet<&str> = FxHashSet::default();
        let mut material = Vec::new();
        for message in (start..end).filter(|&m| boundary.is_none_or(|b| b.keeps(m))) {
            let recorded = &self.session.messages[message as usize];
            if recorded.tool_result().is_some_and(|(call, _)| !open.contains(call)) {
                continue;
            }
            open.extend(recorded.calls());
            material.push(CompactableMessage { message, cleared: cleared.contains(&message) });
        }
        material
    }

    /// Why the session has no place for a cut.
    fn why_none(&self, depth: u32) -> NoCut {
        let requests = self.requests.len() as u64;
        let tokens = self.before.last().copied().unwrap_or(0);
        let least = LEAST_TOKENS * u64::from(depth);
        NoCut::Short { requests, tokens, least }
    }
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
