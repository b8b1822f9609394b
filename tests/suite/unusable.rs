//! Unusable replies of a compactor on the bundled sessions: the offline compactor
//! gives none, and one that always says the same gives nothing else.

use crate::common::talk::real;
use crate::common::{block_on, offline, prepared};
use async_trait::async_trait;
use recap_core::model::{Repeated, ReplyFacts, Unusable, UnusableReplies};
use recap_formats::bundled;
use recap_replay::{PreparedSession, replay};
use recap_strategy::{
    Asked, CallUsage, Compactor, Digest, FailedCall, Produced, Reply, SessionState, Task, builtin,
    builtin_names,
};

/// Small enough for every strategy to compact in every session.
const WINDOW: u64 = 8_000;

/// Says the same five words whatever it is asked.
struct FiveWords;

#[async_trait]
impl Compactor for FiveWords {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        let words = "They talked about some things.".to_owned();
        let produced = match task.asked {
            Asked::Continuation { .. } => Produced::Continuation(words),
            Asked::Digest { .. } => {
                Produced::Digest(Digest { summary: words, memories: Vec::new() })
            }
            Asked::SessionState { .. } => Produced::SessionState(SessionState {
                conversation_summary: words,
                ..SessionState::default()
            }),
        };
        let (usage, written) = (CallUsage { input: 1_000, output: 6 }, 6);
        Ok(Reply::unmodelled(produced, usage, written))
    }

    fn name(&self) -> &str {
        "five-words"
    }
}

fn sessions() -> Vec<PreparedSession> {
    bundled("quickstart").unwrap().unwrap().sessions.into_iter().map(prepared).collect()
}

fn unusable_replies(replies: &[ReplyFacts]) -> UnusableReplies {
    let repeated = Repeated::among(replies);
    let mut found = UnusableReplies::default();
    replies.iter().for_each(|reply| found.add(reply, &repeated));
    found
}

/// What a compactor replied to a strategy in all sessions.
fn replies(
    strategy: &str,
    sessions: &[PreparedSession],
    compactor: &dyn Compactor,
) -> Vec<ReplyFacts> {
    let plan = real(strategy, WINDOW, &[]);
    let each = sessions.iter().flat_map(|session| {
        let cell = block_on(replay(session, &plan, compactor)).cell;
        let rows = cell.rows().unwrap_or_else(|| panic!("{strategy}: {:?}", cell.outcome));
        let each = rows.compactions.iter().flat_map(|row| row.replies.clone());
        each.collect::<Vec<ReplyFacts>>()
    });
    each.collect()
}

#[test]
fn offline_compactor_is_usable_on_the_bundled_sessions() {
    let (sessions, mut asked) = (sessions(), 0);
    // Variants of a strategy, such as gencode-low-cost, differ in numbers alone.
    let is_variant = |name: &str| builtin_names().any(|base| name.starts_with(&format!("{base}-")));
    for name in builtin_names().filter(|name| !is_variant(name)) {
        if !builtin(name, &[]).unwrap().unwrap().uses_compactor() {
            continue;
        }
        let found = unusable_replies(&replies(name, &sessions, &offline()));
        // It lists what names something, newest first: where little is new, two replies are alike.
        // 4 of 60 are measured for gemini-cli, 8 of 136 for digests of 27 to 40 tokens.
        assert!(found.unusable * 10 <= found.replies, "{name}: {found:?}");
        asked += found.replies;
    }
    assert!(asked > 100, "{asked} replies");
}

#[test]
fn five_fixed_words_are_unusable_under_every_shape() {
    let sessions = sessions();
    for name in ["claude-code", "continuation", "session-state", "chunked-summary"] {
        let found = unusable_replies(&replies(name, &sessions, &FiveWords));
        let UnusableReplies { replies, unusable, reasons, .. } = &found;
        assert!(*replies >= 3 && unusable == replies && found.are_too_many(), "{name}: {found:?}");
        assert_eq!(reasons[&Unusable::Repeated], *replies, "{name}: {found:?}");
        // Short only for what is large, and where the bound leaves room for more.
        let short = reasons.get(&Unusable::TooShort).copied().unwrap_or_default();
        let bounded = ["continuation", "chunked-summary"].contains(&name);
        assert!(bounded || short > 0, "{name}: {found:?}");
    }
}
