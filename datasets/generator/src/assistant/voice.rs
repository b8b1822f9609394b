//! How the user writes to the assistant.

use crate::Stream;
use crate::voice::slip;

/// Habits of one user, the same all session long.
#[derive(Clone, Debug)]
pub struct Voice {
    lower: bool,
    slips: u64,
    /// How often something is added that is not needed, in percent.
    pub chatty: u64,
}

impl Voice {
    /// Draws habits.
    pub fn new(random: &mut Stream) -> Voice {
        let (lower, slips) = (random.chance(40), *random.pick(&[0, 1, 2, 3]));
        Voice { lower, slips, chatty: *random.pick(&[4, 15, 30]) }
    }

    /// `text` as this user types it. Names, numbers and what stands in `keep`
    /// stay as they are.
    pub fn typed(&self, random: &mut Stream, text: &str, keep: &[&str]) -> String {
        let words = text.split(' ').map(|word| {
            let is_plain = word.len() > 5
                && word.bytes().all(|b| b.is_ascii_lowercase())
                && !keep.iter().any(|kept| kept.contains(word));
            if is_plain && random.chance(self.slips) { slip(random, word) } else { word.to_owned() }
        });
        let typed = words.collect::<Vec<_>>().join(" ");
        if !self.lower {
            return typed;
        }
        let kept = typed.split([' ', ',']).next().unwrap_or("");
        let is_name = keep.iter().any(|value| value.starts_with(kept));
        let mut letters = typed.trim_end_matches('.').chars();
        match letters.next() {
            Some(first) if !is_name && kept.len() > 1 => {
                first.to_lowercase().chain(letters).collect()
            }
            _ => typed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_change_plain_words_never_values_or_names() {
        let mut random = Stream::new(3, "voice");
        let voice = Voice { lower: true, slips: 100, chatty: 0 };
        let text = "Please order the folding stool, number 4417, from Marla quickly.";
        let typed = voice.typed(&mut random, text, &["folding stool"]);
        assert!(typed.starts_with("please "), "{typed}");
        assert!(
            typed.contains(" folding stool, ") && typed.contains(" 4417, from Marla "),
            "{typed}"
        );
        assert!(!typed.contains("number"), "{typed}");
        let name = voice.typed(&mut random, "Marla phoned.", &["Marla Quist"]);
        assert!(name.starts_with("Marla"), "{name}");
    }

    #[test]
    fn a_careful_user_types_as_written() {
        let voice = Voice { lower: false, slips: 0, chatty: 0 };
        let text = "Please order it carefully.";
        assert_eq!(voice.typed(&mut Stream::new(3, "voice"), text, &[]), text);
    }
}
