//! A part of a run that another process makes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of several parts of a run, written as `3/7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// The number of the part, from 1.
    pub index: u32,
    /// The number of parts.
    pub of: u32,
}

/// Largest number of parts.
pub const MOST_SHARDS: u32 = 100_000;

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{typed}` is not a shard: write its number and how many there are, as in 3/7")
        };
        let (index, of) = typed.split_once('/').ok_or_else(wrong)?;
        let number = |text: &str| text.parse().map_err(|_| wrong());
        let shard = Shard { index: number(index)?, of: number(of)? };
        if shard.index == 0 || shard.index > shard.of {
            return Err(format!(
                "there is no shard {typed}: shards are numbered from 1 to {}",
                shard.of
            ));
        }
        if shard.of > MOST_SHARDS {
            return Err(format!("at most {MOST_SHARDS} shards can be merged"));
        }
        Ok(shard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shard_index_lies_within_shard_count() {
        assert_eq!("3/7".parse(), Ok(Shard { index: 3, of: 7 }));
        assert_eq!("7/7".parse::<Shard>().unwrap().to_string(), "7/7");
        for wrong in ["0/7", "8/7", "3", "/7", "3/", "-1/7", "1/0", "a/b", "1/2/3", "1/100001", ""]
        {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
