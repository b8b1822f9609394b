//! How the user writes.

use crate::Stream;

/// Habits of one user, the same all session long.
#[derive(Clone, Debug)]
pub struct Voice {
    lower: bool,
    slips: u64,
}

impl Voice {
    /// Draws habits.
    pub fn new(random: &mut Stream) -> Voice {
        Voice { lower: random.chance(35), slips: *random.pick(&[0, 1, 2, 3]) }
    }

    /// `text` as this user types it. Only plain lower-case words are ever
    /// mistyped, and none of those in `keep`: names, numbers and code stay as
    /// they are.
    pub fn typed(&self, random: &mut Stream, text: &str, keep: &[String]) -> String {
        let words = text.split(' ').map(|word| {
            let is_plain = word.len() > 5
                && word.chars().all(|c| c.is_ascii_lowercase())
                && !keep.iter().any(|kept| kept.split(' ').any(|part| part == word));
            if is_plain && random.chance(self.slips) { slip(random, word) } else { word.to_owned() }
        });
        let mut typed = words.collect::<Vec<_>>().join(" ");
        if self.lower {
            let first = typed.split(' ').next().unwrap_or("");
            let is_word = first.chars().skip(1).all(|c| c.is_ascii_lowercase() || c == ',');
            if is_word && let Some(c) = first.chars().next() {
                typed.replace_range(..c.len_utf8(), &c.to_lowercase().to_string());
            }
            if typed.ends_with('.') {
                typed.pop();
            }
        }
        typed
    }
}

/// Two letters change places, or one is left out.
pub(super) fn slip(random: &mut Stream, word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let at = 1 + random.index(letters.len() - 3);
    if random.chance(60) && letters[at] != letters[at + 1] {
        letters.swap(at, at + 1);
    } else {
        letters.remove(at);
    }
    letters.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_change_plain_words_and_leave_values_alone() {
        let mut random = Stream::new(3, "voice");
        let voice = Voice { lower: true, slips: 100 };
        let typed = voice.typed(
            &mut random,
            "Please restart exp-worker-03 before 21:40, always carefully.",
            &[],
        );
        assert!(typed.starts_with("please "), "{typed}");
        assert!(typed.contains(" exp-worker-03 ") && typed.contains("21:40,"), "{typed}");
        assert!(!typed.contains("restart "), "{typed}");
        assert!(!typed.ends_with('.'), "{typed}");
    }

    #[test]
    fn a_careful_user_types_as_written() {
        let voice = Voice { lower: false, slips: 0 };
        let text = "Please restart it carefully.";
        assert_eq!(voice.typed(&mut Stream::new(3, "voice"), text, &[]), text);
    }
}
