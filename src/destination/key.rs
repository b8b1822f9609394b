//! Under which key a shard is published: it follows from what the run is made
//! of, never from what came out, since measured times differ between two runs
//! of one shard.

use std::fmt;

use crate::model::{MOST_SHARDS, Manifest, Planned, Shard};

/// Hexadecimal digits of the hash of a run: 128 bits.
const DIGITS: usize = 32;

/// A run in so many shards, written as `run-HASH-of-N`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey {
    hash: String,
    /// The number of shards.
    pub of: u32,
}

/// A shard of a run, written as `run-HASH-of-N/shard-I.zst`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardKey {
    /// The run.
    pub run: RunKey,
    /// The number of the shard, from 1.
    pub index: u32,
}

impl ShardKey {
    /// The key of a shard; `None` if the manifest is that of a whole run. What
    /// all shards of a run have in common is hashed (BLAKE3): everything but
    /// the shard, its plan, and warnings, of which some are about its own
    /// sessions.
    pub fn of(manifest: &Manifest) -> Option<Self> {
        let Shard { index, of } = manifest.shard?;
        let common = Manifest {
            shard: None,
            planned: Planned::default(),
            warnings: Vec::new(),
            ..manifest.clone()
        };
        let json = serde_json::to_vec(&common).expect("plain data serialises");
        let hash = blake3::hash(&json).to_hex()[..DIGITS].to_owned();
        Some(Self { run: RunKey { hash, of }, index })
    }

    /// The shard.
    pub fn shard(&self) -> Shard {
        Shard { index: self.index, of: self.run.of }
    }

    /// The name of its object in the folder of the run.
    pub fn name(&self) -> String {
        format!("shard-{}.zst", self.index)
    }

    /// The shard whose object in the folder of a run has this name; `None` for
    /// every other object.
    pub fn named(run: &RunKey, name: &str) -> Option<Self> {
        let index = number(name.strip_prefix("shard-")?.strip_suffix(".zst")?)?;
        (index <= run.of).then(|| Self { run: run.clone(), index })
    }
}

impl RunKey {
    /// The run that a folder of a destination holds, by the folder's name;
    /// `None` for every other folder.
    pub fn named(name: &str) -> Option<Self> {
        let (hash, of) = name.strip_prefix("run-")?.split_once("-of-")?;
        let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        let of = number(of).filter(|of| *of <= MOST_SHARDS)?;
        let is_hash = hash.len() == DIGITS && hash.chars().all(is_digit);
        is_hash.then(|| Self { hash: hash.to_owned(), of })
    }
}

/// A number from 1, written in one way alone.
fn number(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number > 0 && number.to_string() == text).then_some(number)
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run-{}-of-{}", self.hash, self.of)
    }
}

impl fmt::Display for ShardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.run, self.name())
    }
}
