//! The newest messages that a summary leaves unchanged.

use crate::mechanism::BuildError;
use serde::Deserialize;

use super::super::folding::Cuts;
use crate::context::{Context, EntryId};
use crate::mechanism::Host;
use recap_core::model::{MessageIndex, Role};

/// The tail as written: one of the sizes, or none for no tail.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tail {
    /// Largest number of tokens.
    tokens: Option<u64>,
    /// Largest share of the size in `of`.
    share: Option<f64>,
    /// The size that the share refers to.
    of: Option<Of>,
    /// Smallest number of tokens of the share.
    at_least: Option<u64>,
    at_most: Option<u64>,
    /// The tail fills what the target of the stage leaves besides preamble and summary.
    to: Option<To>,
    /// Number of messages.
    messages: Option<usize>,
    /// Number of responses of the agent, with the messages between them.
    pub(super) responses: Option<usize>,
    /// Number of turns of the user.
    turns: Option<usize>,
    /// Where a tail limited by tokens may begin.
    #[serde(default)]
    from: From,
}

/// The size that a share refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Of {
    Window,
    Budget,
    /// All messages that are stored.
    Messages,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum To {
    Target,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum From {
    /// At any message that is not separated from its call.
    #[default]
    Pair,
    /// At a user's message.
    UserTurn,
}

impl Tail {
    /// Refuses combinations that make no sense.
    pub(super) fn check(self) -> Result<(), BuildError> {
        let counts = [self.messages, self.responses, self.turns];
        let sizes = [self.tokens.is_some(), self.share.is_some(), self.to.is_some()];
        let sizes = sizes.into_iter().filter(|given| *given).count();
        if sizes + counts.iter().flatten().count() > 1 {
            return Err("keep: give one of tokens, share, to, messages, responses, turns".into());
        }
        if counts.contains(&Some(0)) {
            return Err("keep: a count must be at least 1".into());
        }
        let is_share = |share: f64| share > 0.0 && share < 1.0;
        if self.share.is_some() != self.of.is_some() || !self.share.is_none_or(is_share) {
            return Err("keep: `share`, such as 0.3, and `of` go together".into());
        }
        let bounded = self.at_least.is_some() || self.at_most.is_some();
        if bounded && self.share.is_none() || self.at_least > self.at_most.or(self.at_least) {
            return Err("keep: `at_least` and `at_most` are bounds of a `share`".into());
        }
        if self.from == From::UserTurn && sizes == 0 {
            return Err("keep: `from` belongs to `tokens`, `share` or `to`".into());
        }
        Ok(())
    }

    /// The first recorded message of the tail; no call is separated from its
    /// result.
    ///
    /// `summary` is the size that the summary may have.
    pub(super) fn cut(self, context: &Context, host: &Host<'_>, summary: u64) -> MessageIndex {
        let cuts = Cuts::of(context);
        let counts = [
            (self.messages, None),
            (self.responses, Some(Role::Assistant)),
            (self.turns, Some(Role::User)),
        ];
        let given = counts.into_iter().find_map(|(keep, only)| Some((keep?, only)));
        if let Some((keep, only)) = given {
            let counts = |id: &EntryId| {
                let role = context.original(*id).map(|message| message.role);
                role.is_some() && (only.is_none() || only == role)
            };
            let nth_newest = context.stored().rev().filter(counts).nth(keep - 1);
            // If there are fewer, all of them stay.
            return cuts.back_to_whole(nth_newest.and_then(EntryId::index).unwrap_or(0));
        }
        let all = cuts.back_to_whole(context.seen_count());
        match self.limit(context, host, summary) {
            Some(limit) => self.within(limit, context, host, &cuts).min(all),
            None => all,
        }
    }

    /// Largest number of tokens in the tail.
    fn limit(self, context: &Context, host: &Host<'_>, summary: u64) -> Option<u64> {
        let share = self.share.zip(self.of).map(|(share, of)| {
            let whole = match of {
                Of::Window => host.window,
                Of::Budget => host.budget,
                Of::Messages => host.size(context.messages_weight()),
            };
            let limit = (whole as f64 * share) as u64;
            limit.max(self.at_least.unwrap_or(0)).min(self.at_most.unwrap_or(u64::MAX))
        });
        let target = self.to.map(|To::Target| {
            host.target.saturating_sub(host.size(context.preamble_weight()) + summary)
        });
        self.tokens.or(share).or(target)
    }

    /// The longest tail within a limit. At user turns: if none is that short,
    /// nothing stays after a final message of the agent, and else the newest
    /// turn.
    fn within(self, limit: u64, context: &Context, host: &Host<'_>, cuts: &Cuts) -> MessageIndex {
        let mut sum = 0;
        let mut from = context.seen_count();
        for index in context.stored().rev().filter_map(EntryId::index) {
            sum += host.size(context.weight_of(EntryId::message(index)));
            if sum > limit {
                break;
            }
            from = index;
        }
        let mut later = from..context.seen_count();
        let is_turn = |index: MessageIndex| context.exchanges().binary_search(&index).is_ok();
        match self.from {
            From::Pair => later.find(|&at| cuts.is_whole(at)).unwrap_or(context.seen_count()),
            From::UserTurn => {
                later.find(|&at| cuts.is_whole(at) && is_turn(at)).unwrap_or_else(|| {
                    last_word(context).unwrap_or_else(|| newest_turn(context, cuts))
                })
            }
        }
    }
}

/// The end, if the newest message is the agent's and has no call.
fn last_word(context: &Context) -> Option<MessageIndex> {
    let newest = context.seen_count().checked_sub(1)?;
    let message = context.original(EntryId::message(newest))?;
    let calls = !context.recording().calls_in(newest).is_empty();
    (message.role == Role::Assistant && !calls).then_some(newest + 1)
}

fn newest_turn(context: &Context, cuts: &Cuts) -> MessageIndex {
    let stored = |index: &&MessageIndex| context.contains(EntryId::message(**index));
    let newest = context.exchanges().iter().rev().find(stored).copied();
    cuts.back_to_whole(newest.unwrap_or(0))
}
