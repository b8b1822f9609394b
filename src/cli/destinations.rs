//! Shards that are published to a destination, and fetched from one.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::exit::{Exit, Failure};
use super::wire;
use super::work::{Stopped, Work};
use crate::destination::{
    Address, AddressError, Destination, DestinationError, Published, ShardKey, is_address,
};
use crate::model::{Manifest, Shard};

impl From<AddressError> for Failure {
    fn from(error: AddressError) -> Self {
        Failure::usage(error.to_string()).help(
            "write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER",
        )
    }
}

impl From<DestinationError> for Failure {
    fn from(error: DestinationError) -> Self {
        let help = error.help();
        let code = match &error {
            DestinationError::Store { why, .. } if why.may_pass() => Exit::Incomplete,
            _ => Exit::Usage,
        };
        Failure::with_code(code, error.to_string()).help(help)
    }
}

/// The address that a path is meant as, if it is meant as one.
fn address(typed: &Path) -> Result<Option<Address>, Failure> {
    match typed.to_str().filter(|typed| is_address(typed)) {
        Some(typed) => Ok(Some(typed.parse()?)),
        None => Ok(None),
    }
}

/// Refuses an address where a folder of this machine is needed.
pub(super) fn refuse_address(out: &Path) -> Result<(), Failure> {
    match address(out)? {
        None => Ok(()),
        Some(address) => Err(Failure::usage(format!("--out {address}: only shards go there"))
            .help("give a folder here; `recap bench --shard I/N` publishes shards to an address")),
    }
}

/// Where a shard is to be published, as asked for on the command line.
#[derive(Debug)]
pub(super) struct Target {
    address: Address,
    folder: Option<PathBuf>,
}

impl Target {
    /// What `--out` and `--work` ask for; `None` if the run goes to a folder.
    pub fn of(
        out: Option<&Path>,
        (shard, resume): (Option<Shard>, bool),
        work: Option<&Path>,
    ) -> Result<Option<Self>, Failure> {
        let Some(address) = out.map(address).transpose()?.flatten() else {
            return match work {
                None => Ok(None),
                Some(_) => Err(Failure::usage("--work without a destination in --out")
                    .help("leave it out: --out is the folder in which the run is made")),
            };
        };
        if shard.is_none() {
            return Err(Failure::usage(format!("--out {address} without --shard"))
                .help("--shard 1/1 publishes the whole run as one shard, for `recap merge`"));
        }
        if resume && work.is_none() {
            return Err(Failure::usage("--resume with a destination in --out, without --work")
                .help("--work names the folder of the interrupted shard, which was printed"));
        }
        Ok(Some(Self { address, folder: work.map(Path::to_owned) }))
    }

    /// Connects, and makes a folder for the shard; `None` if the shard is
    /// published already.
    pub fn open(
        self,
        manifest: &Manifest,
        work: &mut Work,
    ) -> Result<Option<Publication>, Failure> {
        let key = ShardKey::of(manifest).expect("the run is a shard");
        let destination = Destination::open(&self.address, &wire::store_settings())?;
        let (shard, at) = (key.shard(), destination.at(&key));
        if work.run(destination.has(&key))?? {
            wire::say(&format!("shard {shard} is published already, and stays as it is: {at}"));
            return Ok(None);
        }
        let temporary = self.folder.is_none();
        let folder = self.folder.map_or_else(|| unnamed(shard), Ok)?;
        wire::say(&format!("shard {shard} is made in {}, and published as {at}", folder.display()));
        Ok(Some(Publication { destination, key, folder, temporary }))
    }
}

/// A new folder, which stays unless the shard is published.
fn unnamed(shard: Shard) -> Result<PathBuf, Failure> {
    let prefix = format!("recap-shard-{}-of-{}-", shard.index, shard.of);
    let made = tempfile::Builder::new().prefix(&prefix).tempdir();
    made.map(TempDir::keep).map_err(|e| no_folder(&e))
}

fn no_folder(error: &std::io::Error) -> Failure {
    let place = std::env::temp_dir();
    Failure::usage(format!("{}: no folder can be made there: {error}", place.display()))
        .help("set TMPDIR to a folder that may be written to")
}

/// A shard that is published once it is whole.
#[derive(Debug)]
pub(super) struct Publication {
    destination: Destination,
    key: ShardKey,
    folder: PathBuf,
    temporary: bool,
}

impl Publication {
    /// The folder in which the shard is made.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How an interrupted shard is finished, and a whole one published.
    pub fn again(&self) -> String {
        format!("the same command with --work {} --resume", self.folder.display())
    }

    /// Publishes the shard, unless models left it unfinished: what is published
    /// stays.
    pub fn publish(self, work: &mut Work, ended: Exit) -> Result<Exit, Failure> {
        let shard = self.key.shard();
        if ended != Exit::Done {
            wire::say(&format!("shard {shard} is not whole, and not published"));
            wire::say(&format!("help: {} finishes it", self.again()));
            return Ok(ended);
        }
        let whole = format!("the shard is whole: {} publishes it", self.again());
        let published = work.run(self.destination.publish(&self.key, &self.folder));
        let published = published.map_err(|Stopped(exit)| {
            Failure::with_code(exit, "interrupted before the shard was published").help(&whole)
        })?;
        let published = published.map_err(|error| {
            let help = format!("{}; {whole}", error.help());
            Failure::from(error).help(help)
        })?;
        let at = self.destination.at(&self.key);
        wire::say(&match published {
            Published::New(bytes) => format!("shard {shard} is published: {at} ({bytes} bytes)"),
            Published::Earlier => format!(
                "shard {shard} was published by another process meanwhile, and stays as it is: {at}"
            ),
        });
        if self.temporary
            && let Err(error) = std::fs::remove_dir_all(&self.folder)
        {
            let path = self.folder.display();
            wire::say(&format!("warning: {path}: this folder could not be removed: {error}"));
        }
        Ok(Exit::Done)
    }
}

/// The folders of shards, of which those from a destination are copies.
#[derive(Debug)]
pub(super) struct Parts {
    /// The folders, in the order in which they were given.
    pub folders: Vec<PathBuf>,
    /// Each copy with the address of its object.
    copies: Vec<(PathBuf, String)>,
    /// Removes the copies.
    _copies: Option<TempDir>,
}

impl Parts {
    /// Takes folders as they are, and fetches the shards of each address.
    pub fn of(given: &[PathBuf]) -> Result<Self, Failure> {
        let mut parts = Self { folders: Vec::new(), copies: Vec::new(), _copies: None };
        let addresses = given.iter().map(|given| address(given));
        let addresses: Vec<Option<Address>> = addresses.collect::<Result<_, _>>()?;
        if addresses.iter().all(Option::is_none) {
            parts.folders = given.to_vec();
            return Ok(parts);
        }
        let copies = tempfile::Builder::new().prefix("recap-merge-").tempdir();
        let copies = copies.map_err(|e| no_folder(&e))?;
        let mut work = Work::new(1)?;
        for (given, address) in given.iter().zip(&addresses) {
            match address {
                None => parts.folders.push(given.clone()),
                Some(address) => {
                    parts.fetch(address, addresses.len() == 1, copies.path(), &mut work)?;
                }
            }
        }
        parts._copies = Some(copies);
        Ok(parts)
    }

    /// Fetches the shards of an address. Where it is the only one, none may be
    /// missing: that is seen before anything is fetched.
    fn fetch(
        &mut self,
        address: &Address,
        only: bool,
        copies: &Path,
        work: &mut Work,
    ) -> Result<(), Failure> {
        let destination = Destination::open(address, &wire::store_settings())?;
        let shards = work.run(destination.shards())??;
        let of = shards.first().map_or(0, |shard| shard.key.run.of);
        let absent = (1..=of).filter(|index| !shards.iter().any(|s| s.key.index == *index));
        let absent: Vec<u32> = absent.collect();
        if only && !absent.is_empty() {
            return Err(missing(address, of, &absent));
        }
        let bytes: u64 = shards.iter().map(|shard| shard.bytes).sum();
        wire::say(&format!("{address}: fetching {} shards, {bytes} bytes", shards.len()));
        for shard in &shards {
            let folder = copies.join((self.copies.len() + 1).to_string());
            work.run(destination.fetch(shard, &folder))??;
            self.folders.push(folder.clone());
            self.copies.push((folder, shard.at.clone()));
        }
        Ok(())
    }

    /// A message in which copies are called by the addresses of their objects.
    pub fn named(&self, message: &str) -> String {
        // The last ones first: the path of the first is the beginning of the tenth's.
        self.copies.iter().rev().fold(message.to_owned(), |message, (folder, at)| {
            message.replace(&*folder.to_string_lossy(), at)
        })
    }
}

/// Most shards that a message names.
const NAMED: usize = 20;

fn missing(address: &Address, of: u32, absent: &[u32]) -> Failure {
    let named: Vec<String> = absent.iter().take(NAMED).map(ToString::to_string).collect();
    let more = match absent.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = named.join(", ");
    Failure::with_code(
        Exit::Incomplete,
        format!("{address}: of {of} shards these are missing: {named}{more}"),
    )
    .help(format!("publish them with --shard I/{of} --out {address}, then merge again"))
}
