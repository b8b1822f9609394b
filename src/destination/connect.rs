//! Connects to the store of an address.

use std::str::FromStr;
use std::sync::Arc;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::{ObjectStore, Result};

use super::address::{Address, Scheme};

/// How long a request may take, its body included, unless a setting says
/// otherwise: the half minute of `object_store` is too short for large objects
/// and slow lines.
const PATIENCE: (&str, &str) = ("timeout", "10 minutes");

/// The store of an address. `settings` are variables of the environment, as
/// `object_store` names them; those of other providers are passed over.
///
/// # Errors
/// A setting has a value that the store does not take.
pub(super) fn connect(
    address: &Address,
    settings: &[(String, String)],
) -> Result<Arc<dyn ObjectStore>> {
    let url = format!("{}://{}", address.scheme.name(), address.bucket);
    Ok(match address.scheme {
        Scheme::S3 => {
            let set = known::<AmazonS3ConfigKey>(settings);
            let builder = AmazonS3Builder::new().with_url(url);
            Arc::new(set.fold(builder, |builder, (k, v)| builder.with_config(k, v)).build()?)
        }
        Scheme::Google => {
            let set = known::<GoogleConfigKey>(settings);
            let builder = GoogleCloudStorageBuilder::new().with_url(url);
            Arc::new(set.fold(builder, |builder, (k, v)| builder.with_config(k, v)).build()?)
        }
        Scheme::Azure => {
            let set = known::<AzureConfigKey>(settings);
            let builder = MicrosoftAzureBuilder::new().with_url(url);
            Arc::new(set.fold(builder, |builder, (k, v)| builder.with_config(k, v)).build()?)
        }
        // The local copy is removed afterwards: the object has to be on the disk.
        Scheme::Folder => Arc::new(LocalFileSystem::new().with_fsync(true)),
    })
}

/// The settings that a provider knows.
fn known<K: FromStr>(settings: &[(String, String)]) -> impl Iterator<Item = (K, &str)> {
    let given = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let all = std::iter::once(PATIENCE).chain(given);
    all.filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value)))
}
