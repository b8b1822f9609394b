//! The one stemmer: irregular forms and other spellings by list, then the
//! English stemmer of the Snowball project.

use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};
use rustc_hash::FxHashMap;

/// One line a group: the first word stands for all.
const FORMS: &str = include_str!("forms.txt");

static BASES: LazyLock<FxHashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let groups = FORMS.lines().filter_map(|line| line.split_once(' '));
    let pairs = groups.flat_map(|(first, others)| others.split(' ').map(move |word| (word, first)));
    pairs.collect()
});

static SNOWBALL: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::new(Algorithm::English));

/// The stem of a lower-case word.
pub fn stem(word: &str) -> String {
    let word = BASES.get(word).copied().unwrap_or(word);
    if word.len() <= 3 || !word.is_ascii() {
        return word.to_owned();
    }
    SNOWBALL.stem(word).into_owned()
}
