//! Two runs beside each other as JSON, for scripts.

use serde::Serialize;

use crate::model::Comparison;

/// Version of this layout; fields are only ever added under one version.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Versioned<'a> {
    version: u32,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

/// Renders a comparison as JSON.
pub fn comparison_json(comparison: &Comparison) -> String {
    let versioned = Versioned { version: VERSION, comparison };
    let json = serde_json::to_string_pretty(&versioned).expect("every key is a string");
    json + "\n"
}
