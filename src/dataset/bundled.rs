//! Data sets that are part of the program.

use super::error::DatasetError;
use super::load::{NativeFiles, load_native};
use super::{Dataset, LoadOptions};

include!(concat!(env!("OUT_DIR"), "/bundled_datasets.rs"));

/// Names of the bundled data sets.
pub fn bundled_names() -> impl Iterator<Item = &'static str> {
    BUNDLED.iter().map(|(name, ..)| *name)
}

/// A bundled data set; `None` if there is none with that name.
pub fn bundled(name: &str) -> Option<Result<Dataset, DatasetError>> {
    let bundled = BUNDLED.iter().find(|(known, ..)| *known == name)?;
    let (name, card, transcripts, probes) = *bundled;
    let files = NativeFiles { card, transcripts, probes };
    Some(load_native(name, &files, &LoadOptions::default()))
}
