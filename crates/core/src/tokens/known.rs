//! The sizes of texts that were counted lately.

use std::sync::Mutex;

use rustc_hash::FxHashMap;

/// Shortest text in bytes that is remembered: shorter ones are counted as fast
/// as they are looked up.
const SHORTEST: usize = 128;

/// Number of parts that are locked one by one, and most sizes in each; all
/// together are some megabytes.
const PARTS: usize = 16;
const SIZES: usize = 7_000;

/// Sizes by the first 128 bits of the BLAKE3 of the text.
#[derive(Debug, Default)]
pub(super) struct Known([Mutex<FxHashMap<u128, u32>>; PARTS]);

impl Known {
    /// Tokens of a text.
    pub(super) fn count(&self, text: &str) -> u64 {
        let anew = || recap_vocabulary::count(text) as u64;
        if text.len() < SHORTEST {
            return anew();
        }
        let mut bytes = [0; size_of::<u128>()];
        blake3::Hasher::new().update(text.as_bytes()).finalize_xof().fill(&mut bytes);
        let hash = u128::from_le_bytes(bytes);
        let part = &self.0[hash as usize % PARTS];
        if let Some(known) = part.lock().expect("no holder panics").get(&hash) {
            return u64::from(*known);
        }
        let tokens = anew();
        let mut part = part.lock().expect("no holder panics");
        if part.len() >= SIZES {
            part.clear();
        }
        part.extend(u32::try_from(tokens).map(|size| (hash, size)));
        tokens
    }
}
