//! Where the shards of a run are published, so that machines without a common
//! disk can make them: S3 and what is compatible with it, Google Cloud Storage,
//! Azure, and a folder that several machines share.
//!
//! A published shard is one object. Its key is made of the inputs and the
//! settings of the run and of the number of the shard, so that a shard that is
//! made twice has the same key; an object is written whole or not at all, and
//! only where there is none. The first one stays.
//!
//! Invariant: this module and `llm/http.rs` are the only ones of recap's own
//! that open a socket. What the object stores are asked with (regions,
//! addresses, keys) is given by the caller.

#[cfg(not(feature = "destinations"))]
mod absent;
mod address;
#[cfg(feature = "destinations")]
mod archive;
#[cfg(feature = "destinations")]
mod connect;
mod error;
mod key;
#[cfg(feature = "destinations")]
mod problem;
#[cfg(feature = "destinations")]
mod store;

#[cfg(not(feature = "destinations"))]
pub use absent::Destination;
pub use address::{Address, AddressError, is_address};
pub use error::{DestinationError, Why};
pub use key::{RunKey, ShardKey};
#[cfg(feature = "destinations")]
pub use store::Destination;

/// What publishing a shard did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// The shard was written: its size in bytes.
    New(u64),
    /// The shard was there already, and stays as it is.
    Earlier,
}

/// A shard that lies in a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Which shard of which run it is.
    pub key: ShardKey,
    /// The whole address of its object.
    pub at: String,
    /// The size of the object in bytes.
    pub bytes: u64,
}
