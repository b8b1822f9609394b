//! Okapi BM25: texts ranked by the words of a query.
//!
//! Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and
//! Beyond" (2009), eq. 3.15, with the customary k1 = 1.2 and b = 0.75, and the
//! inverse document frequency of eq. 3.3 with one added, so that no word of the
//! query counts against a text.

use std::collections::{BTreeMap, BTreeSet};

use super::is_unspaced;

/// How rare a term is that so many of so many texts hold (ibid., eq. 3.3, with
/// one added).
pub fn rarity(holding: f64, texts: f64) -> f64 {
    (1.0 + (texts - holding + 0.5) / (holding + 0.5)).ln()
}

/// The share of a term that stands so often in a text of such a length, as a
/// share of the mean one.
pub fn saturated(count: f64, relative_length: f64) -> f64 {
    const K1: f64 = 1.2;
    const B: f64 = 0.75;
    count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * relative_length))
}

/// The words of a text, counted once for all queries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    counts: BTreeMap<Box<str>, u32>,
    length: u32,
}

impl Terms {
    /// The words of a text.
    pub fn of(text: &str) -> Self {
        let mut terms = Terms::default();
        each_word(text, &mut |word| {
            terms.length += 1;
            match terms.counts.get_mut(word) {
                Some(count) => *count += 1,
                None => _ = terms.counts.insert(word.into(), 1),
            }
        });
        terms
    }
}

/// The positions of the texts that hold a word of the query, best first; of
/// two that score alike the later one, which is newer.
pub fn ranked(texts: &[&Terms], query: &str) -> Vec<usize> {
    let scores = scores(texts, query);
    let mut found: Vec<usize> = (0..texts.len()).filter(|&at| scores[at] > 0.0).collect();
    found.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(b.cmp(&a)));
    found
}

fn scores(texts: &[&Terms], query: &str) -> Vec<f64> {
    let mut terms: BTreeSet<String> = BTreeSet::new();
    each_word(query, &mut |word| _ = terms.insert(word.to_owned()));
    let n = texts.len() as f64;
    let mean = (texts.iter().map(|text| f64::from(text.length)).sum::<f64>() / n).max(1.0);
    let holding = |term: &str| texts.iter().filter(|text| text.counts.contains_key(term)).count();
    let rarity: Vec<(&str, f64)> =
        terms.iter().map(|term| (term.as_str(), rarity(holding(term) as f64, n))).collect();
    let score = |text: &&Terms| {
        let own = rarity.iter().filter_map(|(term, rarity)| {
            let count = f64::from(*text.counts.get(*term)?);
            Some(rarity * saturated(count, f64::from(text.length) / mean))
        });
        own.sum()
    };
    texts.iter().map(score).collect()
}

/// Hands out words in lower case: letters and digits that stand together. Of
/// scripts without spaces between words each character is one.
fn each_word(text: &str, each: &mut dyn FnMut(&str)) {
    let mut word = String::new();
    for run in text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()) {
        let mut goes_on = false;
        for c in run.chars() {
            let alone = is_unspaced(c);
            if !goes_on || alone {
                end(&mut word, each);
            }
            if c.is_ascii() {
                word.push(c.to_ascii_lowercase())
            } else {
                word.extend(c.to_lowercase())
            }
            goes_on = !alone;
        }
        end(&mut word, each);
    }
}

fn end(word: &mut String, each: &mut dyn FnMut(&str)) {
    if !word.is_empty() {
        each(word);
        word.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(texts: &[&str], query: &str) -> Vec<usize> {
        let terms: Vec<Terms> = texts.iter().map(|text| Terms::of(text)).collect();
        ranked(&terms.iter().collect::<Vec<_>>(), query)
    }

    /// Seed 002: BM25 (ours)
    #[test]
    fn scores_are_those_worked_out_by_hand() {
        // Three texts of 4, 2 and 6 words: 4 on average.
        let texts = ["red fox red den", "blue fox", "a red hen in the den"];
        let terms = texts.map(Terms::of);
        let scores = scores(&terms.each_ref(), "Red den");
        // Either word stands in two of the three: ln(1 + 1.5 / 2.5) = ln 1.6.
        let rarity = 1.6_f64.ln();
        // Text 0, of average length: red twice, 2 × 2.2 / (2 + 1.2); den once,
        // 2.2 / (1 + 1.2).
        let first = rarity * (4.4 / 3.2 + 1.0);
        // Text 2, half as long again: 1.2 × (0.25 + 0.75 × 1.5) = 1.65; both once.
        let third = rarity * 2.0 * (2.2 / 2.65);
        for (score, expected) in scores.iter().zip([first, 0.0, third]) {
            assert!((score - expected).abs() < 1e-12, "{score} is not {expected}");
        }
        assert_eq!(ranking(&texts, "Red den"), [0, 2]);
    }

    #[test]
    fn a_rare_word_outweighs_a_common_one() {
        let texts = ["the port is open", "the port is 8443", "the port is closed"];
        assert_eq!(ranking(&texts, "port 8443"), [1, 2, 0]);
    }

    #[test]
    fn later_equal_ranks_first_and_nothing_matches_nothing() {
        assert_eq!(ranking(&["same", "other", "same"], "same"), [2, 0]);
        assert_eq!(ranking(&["same"], "?"), [0; 0]);
        assert_eq!(ranking(&[], "same"), [0; 0]);
    }

    #[test]
    fn words_are_alphanumeric_runs_and_single_unspaced_characters() {
        let mut found: Vec<String> = Vec::new();
        each_word("Retry_policy.rs, ÉTÉ-24 東京tower", &mut |word| found.push(word.to_owned()));
        assert_eq!(found, ["retry", "policy", "rs", "été", "24", "東", "京", "tower"]);
    }
}
