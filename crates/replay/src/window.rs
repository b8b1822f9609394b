//! The context limits of a replay: the one that a run assumes, and the one that the recorded agent
//! worked under.

use std::str::FromStr;

use recap_billing::pricing::BillingModels;
use recap_core::model::{MOST_TOKENS, NATIVE, RecordedTrigger, Session};
use recap_core::text::number_of_tokens;
use recap_core::tokens::Sizes;
use recap_strategy::Scaling;

/// Fewest tokens for messages in a window (how-it-works §10).
pub(crate) const LEAST_FOR_MESSAGES: u64 = 2_000;

/// A window as typed: tokens, a share of each session's messages, or the
/// native window of its model.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowSpec {
    label: String,
    kind: WindowKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum WindowKind {
    Tokens(u64),
    Share(f64),
    Native,
}

/// Why a window cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// The text is not a window.
    #[error(
        "`{0}` is not a window; write tokens (16000, 16k, 1m), a share of the messages (25%), or native"
    )]
    Unreadable(String),
    /// The preamble leaves too few tokens for messages.
    #[error(
        "a window of {window} tokens leaves {left} for messages beside a preamble of {preamble}; \
         at least 2000 are needed: use a window of {} or more, or a share such as 25%",
        preamble + LEAST_FOR_MESSAGES
    )]
    TooSmall {
        /// The window in tokens.
        window: u64,
        /// The tokens of the preamble.
        preamble: u64,
        /// The tokens that are left for messages.
        left: u64,
    },
}

impl FromStr for WindowSpec {
    type Err = WindowError;

    fn from_str(typed: &str) -> Result<Self, WindowError> {
        let unreadable = || WindowError::Unreadable(typed.to_owned());
        let label = typed.trim().to_owned();
        let lower = label.to_ascii_lowercase();
        if lower == NATIVE {
            return Ok(Self::native());
        }
        let kind = if let Some(share) = lower.strip_suffix('%') {
            let share: f64 = share.trim().parse().map_err(|_| unreadable())?;
            if !(share > 0.0 && share <= 100.0) {
                return Err(unreadable());
            }
            WindowKind::Share(share / 100.0)
        } else {
            WindowKind::Tokens(number_of_tokens(&lower).ok_or_else(unreadable)?)
        };
        Ok(Self { label, kind })
    }
}

impl WindowSpec {
    /// The native window of each session's model.
    pub fn native() -> Self {
        Self { label: NATIVE.to_owned(), kind: WindowKind::Native }
    }

    /// A share of the messages of each session, in per cent.
    pub fn share(percent: u8) -> Self {
        Self { label: format!("{percent}%"), kind: WindowKind::Share(f64::from(percent) / 100.0) }
    }

    /// Whether the window is the native one of the recorded model.
    pub fn is_native(&self) -> bool {
        self.kind == WindowKind::Native
    }

    /// Which numbers of strategies scale with it, if any do (how-it-works §14).
    pub fn scaling(&self, scaled: bool) -> Scaling {
        match self.kind {
            _ if !scaled => Scaling::AsWritten,
            WindowKind::Share(_) => Scaling::All,
            WindowKind::Tokens(_) | WindowKind::Native => Scaling::Named,
        }
    }

    /// The text as typed, which is the label in tables.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The window in tokens without a session, for a strategy that is written
    /// for a window of `written` tokens; this is also its `native` window.
    pub fn of_strategy(&self, written: u64) -> u64 {
        match self.kind {
            WindowKind::Tokens(window) => window,
            WindowKind::Share(share) => (written as f64 * share) as u64,
            WindowKind::Native => written,
        }
    }

    /// The window in tokens for a session. A share is of the messages alone:
    /// `P + O + max(2000, floor(share × M))` with P the preamble, O the largest
    /// recorded output, M all messages (how-it-works §10). `native` is the native
    /// window of its model in tokens ([`super::NativeWindow`]).
    ///
    /// # Errors
    /// The window leaves too few tokens beside the preamble.
    pub fn tokens(&self, sizes: &Sizes, native: u64) -> Result<u64, WindowError> {
        let preamble = sizes.preamble_tokens();
        let window = match self.kind {
            WindowKind::Share(share) => {
                let part = (sizes.all_messages() as f64 * share) as u64;
                return Ok(preamble + sizes.largest_output() + part.max(LEAST_FOR_MESSAGES));
            }
            WindowKind::Tokens(window) => window,
            WindowKind::Native => native,
        };
        let left = window.saturating_sub(preamble);
        if left < LEAST_FOR_MESSAGES {
            return Err(WindowError::TooSmall { window, preamble, left });
        }
        Ok(window)
    }
}

// The context limit that a recorded agent worked under.

/// Limit in tokens that is assumed if the recorded model or its limit is not
/// known: that of Claude models except the variants with 1m (Anthropic,
/// "Context windows").
pub const UNKNOWN_LIMIT: u64 = 200_000;

/// Limits of variants above the limit in the price list, in tokens: 1m is a
/// variant of models with 200k (Anthropic, "Context windows").
const LARGER: [u64; 2] = [UNKNOWN_LIMIT, 1_000_000];

/// Limits in tokens at which agents compact: those of Claude (200k, 1m) and of
/// GPT-5 (272k of input, 400k with the output; OpenAI, "Models").
const COMMON: [u64; 4] = [UNKNOWN_LIMIT, 272_000, 400_000, 1_000_000];

/// The native window of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeWindow {
    /// The context limit in tokens.
    pub tokens: u64,
    /// How the limit was determined.
    pub from: NativeFrom,
}

/// How a native window was determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeFrom {
    /// The limit that the recording states.
    Recorded,
    /// The limit of the recorded model in the price list.
    Listed,
    /// The default [`UNKNOWN_LIMIT`], because the model or its limit is not
    /// known.
    Unknown,
    /// The agent compacted automatically well below that limit.
    Compacted,
    /// The session's prompts were larger than that limit.
    Exceeded {
        /// The limit that was exceeded, in tokens.
        limit: u64,
        /// Largest prompt that the recording reports, in tokens.
        largest: u64,
    },
}

impl NativeWindow {
    /// The native window of a session: the limit that the recording states; else
    /// from its model's limit in the price list of `agents` and from the sizes
    /// that the recording reports.
    ///
    /// - Prompts over the limit: the smaller of 200k and 1m that is large enough,
    ///   and beyond that the next whole million.
    /// - An agent that compacts automatically does so at its own limit, which may
    ///   be below its model's: the smallest of 200k, 272k, 400k, 1m and the
    ///   model's limit that is at least as large as every prompt.
    /// - Otherwise the model's limit, or [`UNKNOWN_LIMIT`].
    pub fn of(session: &Session, billing_models: &BillingModels) -> Self {
        let named = session.model.as_deref().map(|name| billing_models.named(name));
        let listed = named.and_then(|billed| billed.prices?.max_input_tokens).filter(|n| *n > 0);
        let stated = session.window.filter(|tokens| (1..=MOST_TOKENS).contains(tokens));
        let limit = stated.or(listed).unwrap_or(UNKNOWN_LIMIT);
        let largest = largest_prompt(session);
        if largest > limit {
            let larger = LARGER.into_iter().find(|window| *window >= largest);
            let tokens = larger.unwrap_or_else(|| largest.next_multiple_of(1_000_000));
            return Self { tokens, from: NativeFrom::Exceeded { limit, largest } };
        }
        if stated.is_some() {
            return Self { tokens: limit, from: NativeFrom::Recorded };
        }
        let holding = COMMON.into_iter().find(|window| *window >= largest);
        match holding.filter(|window| *window < limit) {
            Some(tokens) if largest_before(session).is_some() => {
                Self { tokens, from: NativeFrom::Compacted }
            }
            _ if listed.is_none() => Self { tokens: limit, from: NativeFrom::Unknown },
            _ => Self { tokens: limit, from: NativeFrom::Listed },
        }
    }
}

/// A limit that a session shows, and that others of its agent and model are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLimit {
    /// The context limit in tokens.
    pub tokens: u64,
    /// Id of the session that shows it.
    pub session: String,
    /// What it did that shows it, in words: `compacted by itself at 167000`.
    pub shown: String,
    /// How many others are given it.
    pub given: usize,
}

/// Gives sessions of one agent and model the limit at which one of them compacted by itself:
/// those before it, and those after it until one sends a larger prompt, or compacts at another
/// limit. A session whose recording states its limit keeps that. Sorts the sessions by their
/// begin; returns the limits in that order.
pub fn share_limits(
    sessions: &mut [&mut Session],
    billing_models: &BillingModels,
) -> Vec<SharedLimit> {
    sessions.sort_by_key(|session| session.messages.first().and_then(|message| message.at));
    let own: Vec<NativeWindow> =
        sessions.iter().map(|one| NativeWindow::of(one, billing_models)).collect();
    let shows = |at: usize| {
        let session: &Session = sessions[at];
        let shown = match (own[at].from, largest_before(session)) {
            (NativeFrom::Compacted, Some(before)) => format!("compacted by itself at {before}"),
            _ => format!("sent {}", largest_prompt(session)),
        };
        SharedLimit { tokens: own[at].tokens, session: session.id.clone(), shown, given: 0 }
    };
    let compacted = |window: &NativeWindow| window.from == NativeFrom::Compacted;
    let Some(first) = own.iter().position(compacted) else { return Vec::new() };
    let mut limits = vec![shows(first)];
    let mut given = Vec::new();
    for (at, window) in
        own.iter().enumerate().filter(|(_, window)| window.from != NativeFrom::Recorded)
    {
        let current = limits.last_mut().expect("there is a first one");
        if compacted(window) || largest_prompt(sessions[at]) > current.tokens {
            if window.tokens != current.tokens {
                limits.push(shows(at));
            }
        } else if window.tokens != current.tokens {
            current.given += 1;
            given.push((at, current.tokens));
        }
    }
    given.into_iter().for_each(|(at, tokens)| sessions[at].window = Some(tokens));
    limits
}

/// Largest prompt that the recording reports, of a request or just before a
/// compaction; 0 if it reports none.
fn largest_prompt(session: &Session) -> u64 {
    let requests = session.messages.iter().filter_map(|message| message.usage);
    let requests = requests.map(|usage| usage.prompt());
    let before = session.compactions.iter().filter_map(|c| c.tokens_before);
    // Recorded figures may be impossibly large.
    requests.chain(before).filter(|tokens| *tokens <= MOST_TOKENS).max().unwrap_or(0)
}

/// Largest prompt before an automatic compaction, where the recording reports one. Agents
/// that only clear results do so at any size.
fn largest_before(session: &Session) -> Option<u64> {
    let removed = session.compactions.iter().filter(|c| c.folds());
    let by_itself = removed.filter(|c| c.trigger == RecordedTrigger::Auto);
    by_itself.filter_map(|c| c.tokens_before).filter(|tokens| *tokens <= MOST_TOKENS).max()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use recap_billing::pricing::PriceList;
    use recap_core::model::{Message, RecordedCompaction, Role, Usage};
    use recap_core::tokens::Weight;

    fn sizes(preamble: u64, messages: &[u64], output: u64) -> Sizes {
        let weight = |tokens| Weight { tokens, ..Weight::default() };
        Sizes {
            messages: messages.iter().map(|&t| weight(t)).collect(),
            preamble: weight(preamble),
            preamble_changes: Vec::new(),
            hidden_tokens: 100,
            output: vec![0, output],
            shrinks: Vec::new(),
            put_back: Vec::new(),
        }
    }

    #[test]
    fn windows_are_parsed_as_people_write_them() {
        let tokens = |typed: &str| {
            typed.parse::<WindowSpec>().unwrap().tokens(&sizes(0, &[10], 0), 272_000).unwrap()
        };
        assert_eq!(tokens("200k"), 200_000);
        assert_eq!(tokens("1.5M"), 1_500_000);
        assert_eq!(tokens("16_000"), 16_000);
        assert_eq!(tokens("native"), 272_000);
        for bad in ["", "k", "0", "-5", "0%", "101%", "nan", "inf", "1e400k", "25 percent"] {
            assert!(bad.parse::<WindowSpec>().is_err(), "{bad}");
        }
    }

    #[test]
    fn share_is_of_messages_and_at_least_2000() {
        let quarter: WindowSpec = "25%".parse().unwrap();
        // Preamble 400 + 100 hidden, output 700, a quarter of 40,000.
        assert_eq!(quarter.tokens(&sizes(400, &[30_000, 10_000], 700), 0), Ok(11_200));
        assert_eq!(quarter.tokens(&sizes(400, &[100], 700), 0), Ok(3_200));
    }

    #[test]
    fn window_leaving_under_2000_tokens_is_refused() {
        let window: WindowSpec = "2499".parse().unwrap();
        let refused = window.tokens(&sizes(400, &[100], 0), 0).unwrap_err();
        assert!(refused.to_string().contains("use a window of 2500 or more"), "{refused}");
        let enough: WindowSpec = "2500".parse().unwrap();
        assert!(enough.tokens(&sizes(400, &[100], 0), 0).is_ok());
    }

    #[test]
    fn native_window_leaving_under_2000_tokens_is_refused() {
        let native = WindowSpec::native();
        assert_eq!(native.tokens(&sizes(400, &[100], 0), 2_500), Ok(2_500));
        let refused = native.tokens(&sizes(400, &[100], 0), 2_499).unwrap_err();
        let expected = WindowError::TooSmall { window: 2_499, preamble: 500, left: 1_999 };
        assert_eq!(refused, expected);
    }

    #[test]
    fn native_has_one_label_for_all_spellings() {
        for typed in ["native", " Native ", "NATIVE"] {
            let window: WindowSpec = typed.parse().unwrap();
            assert_eq!(window, WindowSpec::native());
            assert_eq!(window.label(), "native");
        }
        assert_eq!("25%".parse::<WindowSpec>().unwrap(), WindowSpec::share(25));
    }

    #[test]
    fn window_without_session_is_share_of_strategy_window() {
        for (typed, tokens) in [("25%", 50_000), ("16k", 16_000), ("native", 200_000)] {
            let window: WindowSpec = typed.parse().unwrap();
            assert_eq!(window.of_strategy(200_000), tokens, "{typed}");
            assert_eq!(window.is_native(), typed == "native", "{typed}");
        }
        assert!("1e15".parse::<WindowSpec>().is_err());
        assert!("100%".parse::<WindowSpec>().is_ok());
    }

    /// A session of a model with prompts and compactions of these sizes.
    fn session(
        model: Option<&str>,
        prompts: &[u64],
        compactions: &[(RecordedTrigger, Option<u64>)],
    ) -> NativeWindow {
        let message = |input: &u64| Message {
            usage: Some(Usage { input: 1_000, cache_read: input - 1_000, ..Usage::default() }),
            ..Message::new("", Role::Assistant, None, Vec::new())
        };
        let compaction = |(trigger, tokens_before): &(RecordedTrigger, Option<u64>)| {
            let (trigger, tokens_before) = (*trigger, *tokens_before);
            RecordedCompaction { trigger, tokens_before, ..RecordedCompaction::default() }
        };
        let session = Session {
            model: model.map(str::to_owned),
            messages: prompts.iter().map(message).collect(),
            compactions: compactions.iter().map(compaction).collect(),
            ..Session::default()
        };
        let list = r#"{
            "small": {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6, "max_input_tokens": 128000},
            "usual": {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6, "max_input_tokens": 200000},
            "large": {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6, "max_input_tokens": 1000000},
            "vast": {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6, "max_input_tokens": 20000000},
            "none": {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6, "max_input_tokens": 0},
            "unlimited": {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}
        }"#;
        let list = Arc::new(PriceList::parse("test", list).unwrap());
        // The window is that of the recorded model, whatever the agent model of
        // the bill.
        NativeWindow::of(&session, &BillingModels::new(list, vec!["small".to_owned()]))
    }

    const AUTO: RecordedTrigger = RecordedTrigger::Auto;

    #[test]
    fn window_is_listed_limit_of_recorded_model() {
        let listed = |tokens| NativeWindow { tokens, from: NativeFrom::Listed };
        assert_eq!(session(Some("small"), &[50_000], &[]), listed(128_000));
        assert_eq!(session(Some("large"), &[50_000], &[]), listed(1_000_000));
        assert_eq!(session(Some("provider/large"), &[], &[]), listed(1_000_000));
        // A prompt of exactly the limit does not exceed it.
        assert_eq!(session(Some("usual"), &[200_000], &[]), listed(200_000));
    }

    /// OpenCode clears results when a turn ends, whatever the limit.
    #[test]
    fn clearing_results_shows_no_limit() {
        let usage = Some(Usage { input: 90_000, ..Usage::default() });
        let message = Message { usage, ..Message::new("", Role::Assistant, None, Vec::new()) };
        let compacted = |cleared: &[&str]| Session {
            model: Some("gpt-5.4".to_owned()),
            messages: vec![message.clone()],
            compactions: vec![RecordedCompaction {
                trigger: AUTO,
                tokens_before: Some(90_000),
                cleared: cleared.iter().map(|&call| call.to_owned()).collect(),
                ..RecordedCompaction::default()
            }],
            ..Session::default()
        };
        let billing_models = BillingModels::new(Arc::new(PriceList::bundled()), Vec::new());
        let from = |session: &Session| NativeWindow::of(session, &billing_models).from;
        assert_eq!(from(&compacted(&[])), NativeFrom::Compacted);
        assert_eq!(from(&compacted(&["c"])), NativeFrom::Listed);
    }

    #[test]
    fn limit_stated_in_recording_has_priority() {
        let stated = |tokens, prompt| {
            let usage = Some(Usage { input: prompt, ..Usage::default() });
            let message = Message { usage, ..Message::new("", Role::Assistant, None, Vec::new()) };
            let (window, messages) = (Some(tokens), vec![message]);
            let session = Session { window, messages, ..Session::default() };
            let list = Arc::new(PriceList::bundled());
            NativeWindow::of(&session, &BillingModels::new(list, Vec::new()))
        };
        let recorded = NativeWindow { tokens: 258_400, from: NativeFrom::Recorded };
        assert_eq!(stated(258_400, 230_000), recorded);
        let from = NativeFrom::Exceeded { limit: 258_400, largest: 300_000 };
        assert_eq!(stated(258_400, 300_000), NativeWindow { tokens: 1_000_000, from });
        // What is no limit is not believed.
        for odd in [0, MOST_TOKENS + 1] {
            let unknown = NativeWindow { tokens: 200_000, from: NativeFrom::Unknown };
            assert_eq!(stated(odd, 9_000), unknown);
        }
    }

    #[test]
    fn without_a_known_limit_the_window_is_200k() {
        let unknown = NativeWindow { tokens: 200_000, from: NativeFrom::Unknown };
        for model in [None, Some("claude-of-somebody"), Some("unlimited"), Some("none")] {
            assert_eq!(session(model, &[50_000], &[]), unknown, "{model:?}");
        }
        assert_eq!(session(None, &[50_000], &[(AUTO, Some(50_000))]), unknown);
    }

    #[test]
    fn prompts_over_limit_give_next_larger_window() {
        let over = |model, prompts: &[u64]| {
            let found = session(model, prompts, &[]);
            assert!(matches!(found.from, NativeFrom::Exceeded { .. }), "{found:?}");
            found.tokens
        };
        assert_eq!(over(Some("small"), &[150_000, 20_000]), 200_000);
        assert_eq!(over(Some("usual"), &[200_001]), 1_000_000);
        assert_eq!(over(None, &[300_000]), 1_000_000);
        assert_eq!(over(Some("large"), &[1_200_000]), 2_000_000);
        let from = session(Some("usual"), &[300_000], &[]).from;
        assert_eq!(from, NativeFrom::Exceeded { limit: 200_000, largest: 300_000 });
        // The prompt before a compaction counts, whether the compaction was
        // automatic or manual.
        let before = [(RecordedTrigger::Manual, Some(250_000)), (AUTO, Some(160_000))];
        assert_eq!(session(Some("usual"), &[9_000], &before).tokens, 1_000_000);
    }

    #[test]
    fn early_compacting_agent_has_smallest_common_window() {
        let auto =
            |model, prompts: &[u64], before| session(model, prompts, &[(AUTO, Some(before))]);
        let compacted = |tokens| NativeWindow { tokens, from: NativeFrom::Compacted };
        assert_eq!(auto(Some("large"), &[158_000], 160_000), compacted(200_000));
        assert_eq!(auto(Some("large"), &[210_000], 160_000), compacted(272_000));
        assert_eq!(auto(Some("large"), &[210_000], 272_001), compacted(400_000));
        let listed = |tokens| NativeWindow { tokens, from: NativeFrom::Listed };
        assert_eq!(auto(Some("large"), &[9_000], 400_001), listed(1_000_000));
        // The model's own limit is the smallest.
        assert_eq!(auto(Some("small"), &[90_000], 100_000), listed(128_000));
        assert_eq!(auto(Some("usual"), &[90_000], 100_000), listed(200_000));
    }

    #[test]
    fn manual_and_unsized_compactions_do_not_change_window() {
        let listed = NativeWindow { tokens: 1_000_000, from: NativeFrom::Listed };
        for compaction in [
            (RecordedTrigger::Manual, Some(160_000)),
            (RecordedTrigger::Unknown, Some(160_000)),
            (AUTO, None),
        ] {
            assert_eq!(session(Some("large"), &[9_000], &[compaction]), listed, "{compaction:?}");
        }
    }

    /// A session of a model with 1m, at an hour, with its largest prompt and the size at which it
    /// compacted by itself.
    fn at_hour(id: &str, hour: i8, prompt: u64, compacted: Option<u64>) -> Session {
        let at = jiff::civil::date(2026, 7, 1).at(hour, 0, 0, 0).in_tz("UTC").unwrap().timestamp();
        let usage = Some(Usage { input: prompt, ..Usage::default() });
        let asked = Message { usage, ..Message::new("", Role::Assistant, Some(at), Vec::new()) };
        let made = compacted.map(|before| RecordedCompaction {
            trigger: AUTO,
            tokens_before: Some(before),
            ..RecordedCompaction::default()
        });
        Session {
            id: id.to_owned(),
            model: Some("claude-opus-5".to_owned()),
            messages: vec![asked],
            compactions: made.into_iter().collect(),
            ..Session::default()
        }
    }

    #[test]
    fn compaction_by_itself_decides_for_all_until_larger_prompt() {
        let mut sessions = [
            at_hour("last", 9, 60_000, None),
            at_hour("compacts", 3, 150_000, Some(167_000)),
            at_hour("first", 1, 40_000, None),
            at_hour("large", 5, 420_000, None),
            at_hour("again", 7, 90_000, Some(165_000)),
            at_hour("behind large", 6, 50_000, None),
        ];
        let billing_models = BillingModels::new(Arc::new(PriceList::bundled()), Vec::new());
        let mut all: Vec<&mut Session> = sessions.iter_mut().collect();
        let limits = share_limits(&mut all, &billing_models);
        let told = limits.iter().map(|one| (&*one.session, one.tokens, one.given, &*one.shown));
        let expected = [
            ("compacts", 200_000, 1, "compacted by itself at 167000"),
            ("large", 1_000_000, 0, "sent 420000"),
            ("again", 200_000, 1, "compacted by itself at 165000"),
        ];
        assert_eq!(told.collect::<Vec<_>>(), expected);
        // In the order of the sessions above.
        let windows =
            sessions.each_ref().map(|one| NativeWindow::of(one, &billing_models).tokens / 1_000);
        assert_eq!(windows, [200, 200, 200, 1_000, 200, 1_000]);
    }

    #[test]
    fn stated_limits_stay_and_without_compaction_nothing_is_shared() {
        let billing_models = BillingModels::new(Arc::new(PriceList::bundled()), Vec::new());
        let mut alone = [at_hour("a", 1, 9_000, None), at_hour("b", 2, 9_000, None)];
        let mut all: Vec<&mut Session> = alone.iter_mut().collect();
        assert_eq!(share_limits(&mut all, &billing_models), []);
        let mut sessions = [at_hour("a", 1, 9_000, Some(160_000)), at_hour("b", 2, 9_000, None)];
        sessions[1].window = Some(500_000);
        let mut all: Vec<&mut Session> = sessions.iter_mut().collect();
        assert_eq!(share_limits(&mut all, &billing_models)[0].given, 0);
        assert_eq!(sessions[1].window, Some(500_000));
    }

    #[test]
    fn impossibly_large_sizes_are_ignored() {
        let listed = NativeWindow { tokens: 1_000_000, from: NativeFrom::Listed };
        assert_eq!(session(Some("large"), &[u64::MAX, 9_000], &[(AUTO, Some(u64::MAX))]), listed);
    }

    #[test]
    fn window_holds_prompt_of_exactly_its_size() {
        let tokens = |model, prompt, trigger| session(Some(model), &[prompt], trigger).tokens;
        assert_eq!(tokens("small", 200_000, &[]), 200_000);
        assert_eq!(tokens("usual", 1_000_000, &[]), 1_000_000);
        assert_eq!(tokens("large", 2_000_000, &[]), 2_000_000);
        assert_eq!(tokens("large", 200_000, &[(AUTO, Some(9_000))]), 200_000);
        // The largest figure that is believed, and one more.
        assert_eq!(tokens("large", 10_000_000, &[]), 10_000_000);
        assert_eq!(tokens("large", 10_000_001, &[]), 1_000_000);
        // No common window holds it: it is the model's own limit.
        let vast = session(Some("vast"), &[3_000_000], &[(AUTO, Some(9_000))]);
        assert_eq!(vast, NativeWindow { tokens: 20_000_000, from: NativeFrom::Listed });
    }
}
