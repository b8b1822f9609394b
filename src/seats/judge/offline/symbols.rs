//! Values without a word: an emoji, a sign.

use std::borrow::Cow;

/// Whether a character says something by itself: no letter or digit, and none
/// of the marks that only order a text.
pub(super) fn is_symbol(c: char) -> bool {
    let orders = c.is_whitespace()
        || c.is_control()
        || is_selector(c)
        || ".,;:!?'\"()[]{}-_`*".contains(c)
        || matches!(c, '¡' | '«' | '»' | '¿' | '·' | '、'..='〟' | '\u{2000}'..='\u{206f}')
        || matches!(c, '\u{300}'..='\u{36f}' | '！'..='／' | '：'..='＠');
    !c.is_alphanumeric() && !orders
}

/// Characters that only say how the one before is drawn.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

/// A text in which `❤️` and `❤` are the same.
pub(super) fn without_selectors(text: &str) -> Cow<'_, str> {
    if !text.contains(is_selector) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| !is_selector(*c)).collect())
}

/// The symbols that a value without a letter or digit consists of.
pub(super) fn symbol(value: &str) -> Option<String> {
    let is_sign = !value.contains(char::is_alphanumeric) && value.contains(is_symbol);
    is_sign.then(|| without_selectors(value.trim()).into_owned())
}

/// Whether an answer says nothing at all.
pub(super) fn is_blank(answer: &str) -> bool {
    !answer.contains(|c: char| c.is_alphanumeric() || is_symbol(c))
}
