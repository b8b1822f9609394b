//! What INPUT means: a bundled data set, a file, a folder, or standard input.

use std::io::Read;
use std::path::Path;

use super::exit::Failure;
use crate::dataset::{self, Dataset, LoadOptions};

/// The data set that runs when no INPUT is given.
pub(super) const DEFAULT: &str = "quickstart";

/// Loads every input.
pub(super) fn load(inputs: &[String], sidechains: bool) -> Result<Vec<Dataset>, Failure> {
    let options = LoadOptions { sidechains, only: None };
    if inputs.is_empty() {
        return Ok(vec![one(DEFAULT, &options)?]);
    }
    inputs.iter().map(|input| one(input, &options)).collect()
}

fn one(input: &str, options: &LoadOptions) -> Result<Dataset, Failure> {
    if input == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|e| Failure::usage(format!("standard input: {e}")))?;
        return Ok(dataset::load_reader("stdin", &bytes, options)?);
    }
    // What stands on disk wins over a bundled name.
    if !Path::new(input).exists()
        && let Some(bundled) = dataset::bundled(input)
    {
        return Ok(bundled?);
    }
    Ok(dataset::load(Path::new(input), options)?)
}
