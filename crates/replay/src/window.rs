//! The context limit that a run assumes.

use std::str::FromStr;

use recap_core::model::NATIVE;
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

#[cfg(test)]
mod tests {
    use super::*;
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
        let native: WindowSpec = "native".parse().unwrap();
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
}
