//! Chance that can be repeated.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A seeded stream of choices. Streams of different labels are independent, so
/// that a new choice in one part of a session leaves the others as they were.
#[derive(Clone, Debug)]
pub struct Stream {
    seed: [u8; 32],
    random: ChaCha8Rng,
    drawn: BTreeSet<String>,
}

impl Stream {
    /// The stream of `seed` for what `label` names.
    pub fn new(seed: u64, label: &str) -> Stream {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&seed.to_le_bytes()).update(label.as_bytes());
        Stream::from_seed(*hasher.finalize().as_bytes())
    }

    /// An independent stream of the same seed.
    pub fn fork(&self, label: &str) -> Stream {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.seed).update(label.as_bytes());
        Stream::from_seed(*hasher.finalize().as_bytes())
    }

    fn from_seed(seed: [u8; 32]) -> Stream {
        Stream { seed, random: ChaCha8Rng::from_seed(seed), drawn: BTreeSet::new() }
    }

    /// A number in `range`, each as likely as the others.
    pub fn number(&mut self, range: RangeInclusive<u64>) -> u64 {
        let span = u128::from(range.end() - range.start()) + 1;
        // The high half of the product is even to within 2^-64 × span.
        let high = (u128::from(self.random.next_u64()) * span) >> 64;
        range.start() + high as u64
    }

    /// An index below `length`, which is not 0.
    pub fn index(&mut self, length: usize) -> usize {
        self.number(0..=length as u64 - 1) as usize
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.number(0..=99) < percent
    }

    /// One of `items`, which are not empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }

    /// Brings `items` into any order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }

    /// `n` of `items` in any order; all of them where there are fewer.
    pub fn sample<T: Clone>(&mut self, items: &[T], n: usize) -> Vec<T> {
        let mut items = items.to_vec();
        self.shuffle(&mut items);
        items.truncate(n);
        items
    }

    /// Lower-case hexadecimal digits, at least one digit and one letter among
    /// them where `length` allows both.
    pub fn hex(&mut self, length: usize) -> String {
        loop {
            let digit = |random: &mut Stream| *random.pick(b"0123456789abcdef") as char;
            let text: String = (0..length).map(|_| digit(self)).collect();
            let mixed = text.contains(|c: char| c.is_ascii_digit())
                && text.contains(|c: char| c.is_ascii_lowercase());
            if mixed || length < 2 {
                return text;
            }
        }
    }

    /// What `make` makes, drawn again while this stream handed it out before:
    /// no two facts of a session share a value by accident.
    ///
    /// # Panics
    /// After 10,000 draws, when `make` has nothing new to give.
    pub fn fresh(&mut self, mut make: impl FnMut(&mut Stream) -> String) -> String {
        for _ in 0..10_000 {
            let value = make(self);
            if self.drawn.insert(value.clone()) {
                return value;
            }
        }
        panic!("a value space of a generator is too small");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_depends_only_on_seed_and_label() {
        let draw = |seed, label| {
            let mut stream = Stream::new(seed, label);
            (0..8).map(|_| stream.number(0..=u64::MAX)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7, "a"), draw(7, "a"));
        assert_ne!(draw(7, "a"), draw(8, "a"));
        assert_ne!(draw(7, "a"), draw(7, "b"));
    }

    #[test]
    fn fork_does_not_depend_on_earlier_draws() {
        let mut drawn = Stream::new(7, "a");
        drawn.number(0..=9);
        let mut forks = [Stream::new(7, "a").fork("b"), drawn.fork("b")];
        assert_eq!(forks[0].hex(40), forks[1].clone().hex(40));
        assert_ne!(forks[1].hex(40), Stream::new(7, "a").fork("c").hex(40));
    }

    #[test]
    fn numbers_reach_both_ends_and_nothing_beyond() {
        let mut stream = Stream::new(1, "ends");
        let drawn: BTreeSet<u64> = (0..200).map(|_| stream.number(3..=6)).collect();
        assert_eq!(drawn, BTreeSet::from([3, 4, 5, 6]));
    }

    #[test]
    fn shuffling_keeps_every_item_and_reaches_every_order() {
        let mut stream = Stream::new(1, "orders");
        let orders: BTreeSet<Vec<u8>> = (0..200).map(|_| stream.sample(&[1, 2, 3], 3)).collect();
        assert_eq!(orders.len(), 6);
        assert_eq!(stream.sample(&[1, 2, 3], 2).len(), 2);
        assert_eq!(stream.sample(&[1, 2, 3], 9).len(), 3);
    }

    #[test]
    fn fresh_values_never_repeat() {
        let mut stream = Stream::new(1, "fresh");
        let drawn: BTreeSet<String> =
            (0..16).map(|_| stream.fresh(|s| s.number(0..=15).to_string())).collect();
        assert_eq!(drawn.len(), 16);
    }

    #[test]
    #[should_panic(expected = "too small")]
    fn exhausted_value_space_panics() {
        let mut stream = Stream::new(1, "fresh");
        for _ in 0..3 {
            stream.fresh(|s| s.number(0..=1).to_string());
        }
    }
}
