//! Destinations in a program that is built without them: none can be opened.

use std::convert::Infallible;
use std::path::Path;

use super::{Address, DestinationError, Published, ShardKey, Stored};

/// A destination, of which there is none in this program.
#[derive(Debug)]
pub struct Destination(Infallible);

impl Destination {
    /// Says that this program knows no destinations.
    ///
    /// # Errors
    /// Always.
    pub fn open(
        address: &Address,
        _settings: &[(String, String)],
    ) -> Result<Self, DestinationError> {
        Err(DestinationError::NotBuilt { at: address.to_string() })
    }

    /// Never called, as there is no destination.
    pub fn at(&self, _key: &ShardKey) -> String {
        match self.0 {}
    }

    /// Never called, as there is no destination.
    pub async fn has(&self, _key: &ShardKey) -> Result<bool, DestinationError> {
        match self.0 {}
    }

    /// Never called, as there is no destination.
    pub async fn publish(
        &self,
        _key: &ShardKey,
        _folder: &Path,
    ) -> Result<Published, DestinationError> {
        match self.0 {}
    }

    /// Never called, as there is no destination.
    pub async fn shards(&self) -> Result<Vec<Stored>, DestinationError> {
        match self.0 {}
    }

    /// Never called, as there is no destination.
    pub async fn fetch(&self, _shard: &Stored, _folder: &Path) -> Result<(), DestinationError> {
        match self.0 {}
    }
}
