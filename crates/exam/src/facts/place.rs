//! Cuts: the places of a session at which a compaction is forced (how-it-works
//! §44). They depend on the session alone.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use recap_core::model::{MessageIndex, RecordedCompaction, RecordedContext, Session};
use recap_core::text::{counted, grouped};

/// Number of requests that a session needs before a cut, and from the cut on.
const REQUESTS_AROUND_CUT: u32 = 5;

/// Fewest tokens of messages before a cut, for each unit of depth (how-it-works §44).
const LEAST_TOKENS: u64 = 4_000;
/// Most requests after a cut that are looked at (how-it-works §44).
const HORIZON: u32 = 40;

/// The places of a run's cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// No cuts at all.
    None,
    /// This many places, spread evenly over the session's tokens, and those at which the recorded
    /// agent compacted.
    Spread(u32),
    /// At every request that allows it.
    All,
    /// The places at which the recorded agent compacted.
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
        let found = self.material.binary_search_by_key(&message, |kept| kept.message);
        found.is_ok_and(|at| !self.material[at].cleared)
    }

    /// Tokens of the material after a message of it. `sizes` holds the tokens
    /// of every message of the session.
    pub fn tokens_after(&self, message: MessageIndex, sizes: &[u64]) -> u64 {
        let next = self.material.partition_point(|kept| kept.message <= message);
        self.material[next..].iter().map(|kept| sizes[kept.message as usize]).sum()
    }
}

/// The cuts of a session, by request; or the reason why there are none.
pub type Places = Result<Vec<CutPlace>, String>;

/// Finds the cuts. `sizes` holds the tokens of every message by the vocabulary,
/// `depth` says for how large a session the material must be enough.
///
/// # Errors
/// Why the session has no place for a cut, in a sentence without its name.
pub fn places(session: &Session, sizes: &[u64], cuts: Cuts, depth: u32) -> Places {
    let survey = Survey::new(session, sizes);
    let found = match cuts {
        Cuts::None => return Err("no cut was asked for".to_owned()),
        Cuts::Recorded => survey.recorded(),
        Cuts::All => survey.spread(usize::MAX, depth),
        Cuts::Spread(count) if depth > 1 => survey.spread(count as usize, depth),
        Cuts::Spread(count) => survey.spread_and_recorded(count as usize, depth),
    };
    if !found.is_empty() {
        return Ok(found);
    }
    Err(match cuts {
        Cuts::Recorded => "the recorded agent never compacted before a request".to_owned(),
        _ => survey.why_none(depth),
    })
}

/// Tokens of the messages before each message, and of all of them.
pub(super) fn tokens_before(sizes: &[u64]) -> Vec<u64> {
    let sums = sizes.iter().scan(0, |sum, size| {
        *sum += size;
        Some(*sum)
    });
    std::iter::once(0).chain(sums).collect()
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
    context: RecordedContext<'a>,
}

impl<'a> Survey<'a> {
    fn new(session: &'a Session, sizes: &[u64]) -> Self {
        let (requests, responses) = (session.requests().collect(), session.responses().collect());
        let (before, context) = (tokens_before(sizes), RecordedContext::of(session));
        Survey { session, requests, responses, before, context }
    }

    fn tokens(&self, from: MessageIndex, to: MessageIndex) -> u64 {
        self.before[to.max(from) as usize] - self.before[from as usize]
    }

    /// The end of what may be looked at after a message: the next boundary, or
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

    /// Every request with enough requests and `least` tokens of messages before it, and enough
    /// requests after it.
    fn candidates(&self, least: u64) -> Vec<u32> {
        let mut found = Vec::new();
        for (request, &message) in (0u32..).zip(&self.requests) {
            let boundary = self.context.boundary(self.context.made_before(message));
            let kept_from = boundary.map_or(0, |b| b.kept_from);
            let further_up = boundary.map_or(0, |b| self.further_up(b));
            let tokens = further_up + self.tokens(kept_from, message);
            let answered = |end| self.responses.partition_point(|&other| other < end) as u32;
            let enough = answered(message) - answered(kept_from) >= REQUESTS_AROUND_CUT
                && self.horizon(request) >= REQUESTS_AROUND_CUT
                && tokens >= least;
            if enough {
                found.push(request);
            }
        }
        found
    }

    /// Tokens of the messages before its tail that a boundary kept.
    fn further_up(&self, boundary: &RecordedCompaction) -> u64 {
        let above = boundary.kept().filter(|&message| message < boundary.kept_from);
        above.map(|message| self.tokens(message, message + 1)).sum()
    }

    /// The candidates nearest to even shares of the session's tokens.
    fn spread(&self, count: usize, depth: u32) -> Vec<CutPlace> {
        let candidates = self.candidates(LEAST_TOKENS * u64::from(depth));
        let chosen = self.nearest(candidates, count);
        let place = |request| {
            let from = self.requests[request as usize];
            self.place(request, from, self.context.made_before(from), None)
        };
        chosen.into_iter().map(place).collect()
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

    /// A cut after a message, before a request, at which the agent had made so many compactions.
    fn place(
        &self,
        request: u32,
        from: MessageIndex,
        made: usize,
        recorded: Option<usize>,
    ) -> CutPlace {
        let requests = self.horizon(request);
        CutPlace {
            request,
            requests,
            left: self.left(request),
            from,
            last: self.requests[(request + requests) as usize - 1],
            material: self.material(made, from),
            recorded,
        }
    }

    /// A cut at every recorded compaction that a request follows, with the
    /// material before it.
    fn recorded(&self) -> Vec<CutPlace> {
        let all = &self.session.compactions;
        let folding = all.iter().enumerate().filter(|(_, c)| c.folds() && !c.copied);
        let place = |(at, compaction): (usize, &RecordedCompaction)| {
            let from = compaction.after;
            let request = self.requests.partition_point(|&message| message < from);
            // Two boundaries without a request between them are the same place.
            self.requests.get(request).filter(|&&message| message < self.end(from))?;
            Some(self.place(request as u32, from, at, Some(at)))
        };
        folding.filter_map(place).filter(|place| !place.material.is_empty()).collect()
    }

    /// The messages before `end` that the recorded agent had after its first `made`
    /// compactions. Results whose call is missing are left out, since no
    /// provider accepts them.
    fn material(&self, made: usize, end: MessageIndex) -> Vec<CompactableMessage> {
        let boundary = self.context.boundary(made);
        let start = boundary.map_or(0, |b| b.kept().chain([b.kept_from]).min().unwrap_or(0));
        let mut open: FxHashSet<&str> = FxHashSet::default();
        let mut material = Vec::new();
        for message in (start..end).filter(|&m| boundary.is_none_or(|b| b.keeps(m))) {
            let recorded = &self.session.messages[message as usize];
            if recorded.tool_result().is_some_and(|(call, _)| !open.contains(call)) {
                continue;
            }
            open.extend(recorded.calls());
            material.push(CompactableMessage {
                message,
                cleared: self.context.is_cleared(message, made),
            });
        }
        material
    }

    /// Why the session has no place for a cut.
    fn why_none(&self, depth: u32) -> String {
        let tokens = self.before.last().copied().unwrap_or(0);
        format!(
            "it has {} and {} of messages; a cut needs {REQUESTS_AROUND_CUT} requests and {} \
             tokens before it and {REQUESTS_AROUND_CUT} requests from it on, between two recorded \
             compactions",
            counted(self.requests.len(), "request"),
            counted(tokens, "token"),
            grouped(LEAST_TOKENS * u64::from(depth))
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use recap_core::model::{Block, Message, Piece, Role};

    /// So many requests, each a call with its result; every message has 1,000
    /// tokens.
    fn chat(requests: usize) -> (Session, Vec<u64>) {
        let said = |n: usize, role, block| Message::new(format!("m{n}"), role, None, vec![block]);
        let mut messages = Vec::new();
        for k in 0..requests {
            let id = format!("c{k}");
            let call =
                Block::ToolCall { id: id.clone(), name: "Read".into(), arguments: json!({}) };
            messages.push(said(2 * k, Role::Assistant, call));
            let result =
                Block::ToolResult { call: id, text: "x".into(), images: 0, is_error: false };
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
        // Before message 30 the recorded agent folded all but messages 21 to 29, and kept
        // message 4 from further up; before message 50 it cleared the result of
        // call 12, message 25.
        session.compactions = vec![
            RecordedCompaction {
                after: 30,
                kept_from: 21,
                pieces: vec![
                    Piece::Message(4),
                    Piece::Text { role: Role::User, text: "so".into() },
                ],
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
        // After message 50 stand 51, 52 and 53.
        assert_eq!(cut.tokens_after(50, &sizes), 3_000);
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
        let cuts: Vec<_> =
            found.iter().map(|p| (p.request, p.recorded, p.material.len())).collect();
        assert_eq!(cuts, [(20, Some(1), 40)]);
        session.compactions.clear();
        let why = places(&session, &sizes, Cuts::Recorded, 1).unwrap_err();
        assert_eq!(why, "the recorded agent never compacted before a request");
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
        let boundary =
            RecordedCompaction { after: 30, kept_from: 22, ..RecordedCompaction::default() };
        session.compactions = vec![boundary];
        let found = places(&session, &sizes, Cuts::All, 1).unwrap();
        let behind: Vec<u32> =
            requests(&found).into_iter().filter(|request| *request > 10).collect();
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
        let boundary =
            |after, kept_from| RecordedCompaction { after, kept_from, ..Default::default() };
        // After nothing is no cut, nor before another boundary without a request.
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
        let short = |least| {
            format!(
                "it has 5 requests and 10,000 tokens of messages; a cut needs 5 requests and \
                 {least} tokens before it and 5 requests from it on, between two recorded \
                 compactions"
            )
        };
        assert_eq!((why(1), why(3)), (short("4,000"), short("12,000")));
        let not_asked = places(&session, &sizes, Cuts::None, 1);
        assert_eq!(not_asked, Err("no cut was asked for".to_owned()));
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
        assert_eq!((" all ".parse(), "0".parse()), (Ok(Cuts::All), Ok(Cuts::None)));
        for wrong in ["", "-1", "1.5", "10001", "every", "99999999999999999999"] {
            let error = wrong.parse::<Cuts>().unwrap_err();
            let write = "write a number up to 10000, `all`, `recorded` or `none`";
            assert_eq!(error, write, "{wrong}");
        }
    }

    #[test]
    fn cuts_stand_before_own_requests_behind_copied_history() {
        let (mut session, sizes) = chat(20);
        session.copied = (0..20).step_by(2).collect();
        // Requests 0 to 9 of its own have ten copied ones before them, and 0 to 5 five after.
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
}
