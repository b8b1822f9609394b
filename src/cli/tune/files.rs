//! The files of a search that has ended.

use std::fs;
use std::path::Path;

use super::wire;
use crate::cli::exit::Failure;
use crate::tune::{Search, strategy_file};
use recap_core::model::Tuned;
use recap_report::{tuned_csv, tuned_json, tuned_svg, tuned_table};

/// The result for scripts.
const RESULT: &str = "tune.json";
/// A row for each setting.
const TABLE: &str = "frontier.csv";
/// What is kept against dollars.
const PICTURE: &str = "frontier.svg";

/// Writes the result, and prints it.
pub(super) fn write(
    folder: &Path,
    search: &Search<'_>,
    mut tuned: Tuned,
    json: bool,
) -> Result<(), Failure> {
    if let Some(at) = tuned.recommended {
        let settings = &search.settings;
        let file = strategy_file(search.space, settings.author(), &settings.all[at])?;
        put(folder, &file.name, file.text.as_bytes())?;
        for (name, text) in &file.prompts {
            put(folder, name, text.as_bytes())?;
        }
        if file.programs {
            tuned.notes.push(format!(
                "{} runs programs beside the file of {}: move it there before it is used",
                file.name, tuned.base
            ));
        }
        tuned.strategy_file = Some(file.name);
    }
    let result = tuned_json(&tuned);
    put(folder, RESULT, result.as_bytes())?;
    let mut table = Vec::new();
    tuned_csv(&tuned, &mut table).map_err(|e| Failure::unwritable(&folder.join(TABLE), &e))?;
    put(folder, TABLE, &table)?;
    if let Some(picture) = tuned_svg(&tuned) {
        put(folder, PICTURE, picture.as_bytes())?;
    }
    if json {
        return wire::print_exact(&result);
    }
    let strategy = tuned
        .strategy_file
        .as_deref()
        .map(|name| format!("strategy: recap bench --strategy {}\n", folder.join(name).display()));
    let table = tuned_table(&tuned, wire::screen(true));
    let last = format!("result: {}\n", folder.join(RESULT).display());
    wire::print_table(&format!("{table}\n{}{last}", strategy.unwrap_or_default()))
}

/// Writes a file below a folder.
fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let path = folder.join(name);
    let written = match path.parent() {
        Some(parent) => fs::create_dir_all(parent).and_then(|()| fs::write(&path, bytes)),
        None => fs::write(&path, bytes),
    };
    written.map_err(|e| Failure::unwritable(&path, &e))
}
