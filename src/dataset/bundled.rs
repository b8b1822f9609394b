//! Data sets that are part of the program.

use super::error::DatasetError;
use super::load::load_native;
use super::{Dataset, LoadOptions};

include!(concat!(env!("OUT_DIR"), "/bundled_datasets.rs"));

/// Names of the bundled data sets.
pub fn bundled_names() -> impl Iterator<Item = &'static str> {
    BUNDLED.iter().map(|(name, _, _)| *name)
}

/// A bundled data set; `None` if there is none of that name.
pub fn bundled(name: &str) -> Option<Result<Dataset, DatasetError>> {
    let (name, card, transcripts) = BUNDLED.iter().find(|(known, _, _)| *known == name)?;
    Some(load_native(name, card, transcripts.as_bytes(), &LoadOptions::default()))
}
