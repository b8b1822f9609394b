//! Publishes shards to an object store, and fetches them.

use std::collections::BTreeMap;
use std::io::{BufWriter, Seek, Write};
use std::path::Path as FilePath;
use std::sync::Arc;

use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode};

use super::archive::{io, pack, unpack};
use super::connect::connect;
use super::problem::{Asked, is_lost, told};
use super::{Address, DestinationError, Published, RunKey, ShardKey, Stored};

/// How often an object is written at most where the connection is lost. What
/// else may pass, `object_store` itself tries again.
const ATTEMPTS: u32 = 3;

/// A place where the shards of runs are published.
#[derive(Debug)]
pub struct Destination {
    address: Address,
    store: Arc<dyn ObjectStore>,
    prefix: Path,
}

impl Destination {
    /// Connects to a destination; nothing is sent. `settings` are variables of
    /// the environment: `AWS_...`, `GOOGLE_...` and `AZURE_...`, as the builders
    /// of `object_store` know them.
    ///
    /// # Errors
    /// A setting has a value that the store does not take.
    pub fn open(
        address: &Address,
        settings: &[(String, String)],
    ) -> Result<Self, DestinationError> {
        let store = connect(address, settings);
        let store = store.map_err(|e| told(address.to_string(), Asked::Connect, &e))?;
        Self::on(store, address)
    }

    fn on(store: Arc<dyn ObjectStore>, address: &Address) -> Result<Self, DestinationError> {
        let prefix = Path::parse(&address.prefix);
        let prefix = prefix.map_err(|e| told(address.to_string(), Asked::Connect, &e.into()))?;
        Ok(Self { address: address.clone(), store, prefix })
    }

    /// The address of the object of a shard.
    pub fn at(&self, key: &ShardKey) -> String {
        self.address_of(&self.path(key))
    }

    /// Whether a shard is published. Whoever may not list, read or write there
    /// learns so here, before the work is done.
    ///
    /// # Errors
    /// The store does not answer, does not exist or denies access.
    pub async fn has(&self, key: &ShardKey) -> Result<bool, DestinationError> {
        // A bucket that does not exist has no objects either: listing tells.
        let run = self.run(&key.run);
        let first = self.store.list(Some(&run)).try_next().await;
        first.map_err(|e| told(self.address_of(&run), Asked::List, &e))?;
        let path = self.path(key);
        match self.store.head(&path).await {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(told(self.at(key), Asked::Read, &error)),
        }
    }

    /// Publishes the shard in a folder, unless it is there already.
    ///
    /// # Errors
    /// The folder cannot be read, the shard is too large for an object, or the
    /// store does not take it. Then no part of it can be seen there.
    pub async fn publish(
        &self,
        key: &ShardKey,
        folder: &FilePath,
    ) -> Result<Published, DestinationError> {
        let object = pack(folder)?;
        let bytes = object.len() as u64;
        let payload = object_store::PutPayload::from(object);
        let path = self.path(key);
        let mut attempt = 1;
        loop {
            match self.store.put_opts(&path, payload.clone(), PutMode::Create.into()).await {
                Ok(_) => return Ok(Published::New(bytes)),
                Err(Error::AlreadyExists { .. }) => return Ok(Published::Earlier),
                // Writing it again is safe: it is written only where there is none.
                Err(error) if is_lost(&error) && attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(told(self.at(key), Asked::Write, &error)),
            }
        }
    }

    /// The shards of the run that is published here, by their number. The
    /// address may be that of the run itself.
    ///
    /// # Errors
    /// There is no shard, there are shards of several runs, or the store cannot
    /// be read.
    pub async fn shards(&self) -> Result<Vec<Stored>, DestinationError> {
        let (folders, objects) = self.list(&self.prefix).await?;
        let mut runs: Vec<Shards> = shards_in(&self.prefix, objects).into_iter().collect();
        for folder in folders.iter().filter(|folder| run_of(folder).is_some()) {
            let (_, objects) = self.list(folder).await?;
            runs.extend(shards_in(folder, objects));
        }
        let at = self.address.to_string();
        match &runs[..] {
            [] => Err(DestinationError::Nothing { at }),
            [only] => Ok(only.iter().map(|(key, object)| self.stored(key, object)).collect()),
            several => {
                let runs = several.iter().map(|shards| self.described(shards)).collect();
                Err(DestinationError::Several { at, runs })
            }
        }
    }

    fn stored(&self, key: &ShardKey, object: &ObjectMeta) -> Stored {
        let at = self.address_of(&object.location);
        Stored { key: key.clone(), at, bytes: object.size }
    }

    /// A run, with what tells it from others.
    fn described(&self, shards: &Shards) -> String {
        let last = shards.values().map(|object| object.last_modified).max();
        let last = last.map_or_else(String::new, |last| last.format("%F %T").to_string());
        let run =
            shards.keys().next().map(|key| (self.address_of(&self.run(&key.run)), key.run.of));
        let (at, of) = run.unwrap_or_default();
        format!("{at}: {} of {of} shards, the last from {last} UTC", shards.len())
    }

    /// Fetches a shard into a folder, which is made. The object passes through
    /// a file; no more than a piece of it is in memory.
    ///
    /// # Errors
    /// The object cannot be read or is not a whole shard, or the folder cannot
    /// be written.
    pub async fn fetch(&self, shard: &Stored, folder: &FilePath) -> Result<(), DestinationError> {
        let failed = |error: &Error| told(shard.at.clone(), Asked::Read, error);
        let got = self.store.get(&self.path(&shard.key)).await.map_err(|e| failed(&e))?;
        let mut packed = tempfile::tempfile().map_err(io(folder))?;
        let mut pieces = got.into_stream();
        let mut bytes = 0;
        let mut out = BufWriter::new(&packed);
        while let Some(piece) = pieces.try_next().await.map_err(|e| failed(&e))? {
            out.write_all(&piece).map_err(io(folder))?;
            bytes += piece.len() as u64;
        }
        out.flush().map_err(io(folder))?;
        drop(out);
        packed.rewind().map_err(io(folder))?;
        unpack(packed, bytes, folder, &shard.at)
    }

    /// Folders and objects that lie directly in a folder.
    async fn list(&self, folder: &Path) -> Result<(Vec<Path>, Vec<ObjectMeta>), DestinationError> {
        let listed = self.store.list_with_delimiter(Some(folder)).await;
        let listed = listed.map_err(|e| told(self.address_of(folder), Asked::List, &e))?;
        Ok((listed.common_prefixes, listed.objects))
    }

    fn run(&self, run: &RunKey) -> Path {
        match run_of(&self.prefix) {
            Some(own) if own == *run => self.prefix.clone(),
            _ => self.prefix.clone().join(run.to_string()),
        }
    }

    fn path(&self, key: &ShardKey) -> Path {
        self.run(&key.run).join(key.name())
    }

    fn address_of(&self, path: &Path) -> String {
        Address { prefix: path.to_string(), ..self.address.clone() }.to_string()
    }
}

/// The shards in a folder of a destination, with their objects.
type Shards = BTreeMap<ShardKey, ObjectMeta>;

/// The shards of the run that a folder holds, if it holds any.
fn shards_in(folder: &Path, objects: Vec<ObjectMeta>) -> Option<Shards> {
    let run = run_of(folder)?;
    let key = |object: &ObjectMeta| ShardKey::named(&run, object.location.filename()?);
    let shards = objects.into_iter().filter_map(|object| Some((key(&object)?, object)));
    Some(shards.collect()).filter(|shards: &Shards| !shards.is_empty())
}

/// The run that a folder holds, by its name.
fn run_of(folder: &Path) -> Option<RunKey> {
    RunKey::named(folder.filename()?)
}

#[cfg(test)]
mod tests;
