//! What can go wrong with a destination.

use std::path::PathBuf;

/// Why a shard could not be published or fetched.
#[derive(Debug, thiserror::Error)]
pub enum DestinationError {
    /// This program is built without destinations.
    #[error("{at}: this recap is built without destinations")]
    NotBuilt {
        /// The address.
        at: String,
    },
    /// The store did not do what it was asked to.
    #[error("{at}: {}{}", why.said(), if detail.is_empty() { String::new() } else { format!(" ({detail})") })]
    Store {
        /// The address.
        at: String,
        /// The kind of problem.
        why: Why,
        /// The store's own words, or those of the connection to it.
        detail: String,
    },
    /// A file of this machine cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// An object is not what recap wrote.
    #[error("{at}: this object is no whole shard: {problem}")]
    Damaged {
        /// The address of the object.
        at: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A shard is larger than one object may be.
    #[error("{}: this shard takes {bytes} bytes when packed, and an object may have {most}", path.display())]
    TooLarge {
        /// The folder of the shard.
        path: PathBuf,
        /// Its packed size.
        bytes: u64,
        /// The largest size.
        most: u64,
    },
    /// A destination holds no shard.
    #[error("{at}: there is no shard of a run")]
    Nothing {
        /// The address.
        at: String,
    },
    /// A destination holds shards of several runs.
    #[error("{at}: there are shards of {} runs:\n{}", runs.len(), runs.join("\n"))]
    Several {
        /// The address.
        at: String,
        /// The address of each, with how many shards are there and since when.
        runs: Vec<String>,
    },
}

/// The kind of a store's problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Neither the environment nor the machine has a key.
    NoKey,
    /// The key is wrong, or may not do this.
    Denied,
    /// The bucket, or the container, does not exist.
    NoBucket,
    /// The server does not answer, or was gone in the middle.
    Unreachable,
    /// The address is plain HTTP, which nobody allowed.
    PlainHttp,
    /// The server does not know a condition on which a write depends.
    NoCondition,
    /// The object is not there any more.
    Gone,
    /// The variables of the environment are wrong, or do not suffice.
    Settings,
    /// Something else.
    Other,
}

impl Why {
    fn said(self) -> &'static str {
        match self {
            Why::NoKey => "there is no key for it",
            Why::Denied => "access is denied",
            Why::NoBucket => "there is no such bucket",
            Why::Unreachable => "the server does not answer, or was gone in the middle",
            Why::PlainHttp => "its server is asked by plain HTTP, which is not allowed",
            Why::NoCondition => "the server cannot write an object only where there is none",
            Why::Gone => "the object is not there any more",
            Why::Settings => "the settings in the environment are wrong or do not suffice",
            Why::Other => "the store refused",
        }
    }

    /// Whether trying again later may help without any change.
    pub fn may_pass(self) -> bool {
        matches!(self, Why::Unreachable)
    }

    fn help(self) -> &'static str {
        match self {
            Why::NoKey => {
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, GOOGLE_SERVICE_ACCOUNT, or \
                 AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"
            }
            Why::Denied => {
                "check the key in the environment, its region, and that it may list, read and \
                 write objects there"
            }
            Why::NoBucket => "make the bucket first, or check its name and the server's address",
            Why::Unreachable => "check AWS_ENDPOINT_URL and the network, and try again",
            Why::PlainHttp => "use an https: address, or allow it with AWS_ALLOW_HTTP=true",
            Why::NoCondition => "use a server that knows the header If-None-Match",
            Why::Gone => "see whether someone removed it, and publish that shard again",
            Why::Settings => "check the variables AWS_..., GOOGLE_... or AZURE_...",
            Why::Other => "check the address and the variables AWS_..., GOOGLE_... or AZURE_...",
        }
    }
}

impl DestinationError {
    /// What the user can do.
    pub fn help(&self) -> &'static str {
        match self {
            Self::NotBuilt { .. } => {
                "install it with `--features destinations`, or give the path of a folder"
            }
            Self::Store { why, .. } => why.help(),
            Self::Io { .. } => "check that the folder can be read and written, and has room",
            Self::Damaged { .. } => "remove that object, and publish its shard again",
            Self::TooLarge { .. } => "make more shards: --shard I/N with a larger N",
            Self::Nothing { .. } => {
                "publish shards there with `recap bench --shard I/N --out ADDRESS`, or check the \
                 address"
            }
            Self::Several { .. } => "give the address of one of them",
        }
    }
}
