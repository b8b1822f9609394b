//! The sizes of texts that were counted lately.

use std::hash::BuildHasher;
use std::sync::Mutex;

use rustc_hash::{FxBuildHasher, FxHashMap};

/// Shortest text in bytes that is remembered: shorter ones are counted as fast
/// as they are looked up.
const SHORTEST: usize = 32;

/// Number of parts that are locked one by one, and most sizes in each; all
/// together are some megabytes.
const PARTS: usize = 16;
const SIZES: usize = 7_000;

/// Sizes by hash and length of the text: with a million texts two share both with a chance below
/// one in ten million.
#[derive(Debug, Default)]
pub(super) struct Known([Mutex<FxHashMap<(u64, usize), u32>>; PARTS]);

impl Known {
    /// Tokens of a text.
    pub(super) fn count(&self, text: &str) -> u64 {
        let anew = || recap_vocabulary::count(text) as u64;
        if text.len() < SHORTEST {
            return anew();
        }
        let hash = FxBuildHasher.hash_one(text);
        let (key, part) = ((hash, text.len()), &self.0[hash as usize % PARTS]);
        if let Some(known) = part.lock().expect("no holder panics").get(&key) {
            return u64::from(*known);
        }
        let tokens = anew();
        let mut part = part.lock().expect("no holder panics");
        if part.len() >= SIZES {
            part.clear();
        }
        part.extend(u32::try_from(tokens).map(|size| (key, size)));
        tokens
    }
}
