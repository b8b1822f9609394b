//! What tests read of a recording, and compare of an imported session.

use std::path::{Path, PathBuf};

use recap_core::model::Session;
use recap_formats::{
    Dataset, DatasetError, Export, ImportOptions, Imported, LoadOptions, import, load, load_reader,
};
use serde_json::Value as Json;
use tempfile::TempDir;

/// A file of the project.
pub fn root(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The sample of a format.
pub fn fixture(name: &str) -> PathBuf {
    root("tests/fixtures/dataset").join(name)
}

/// What is read of a file or folder.
#[track_caller]
pub fn dataset(path: impl AsRef<Path>) -> Dataset {
    load(path.as_ref(), &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// A folder with these files.
pub fn folder<T: AsRef<[u8]>>(files: &[(&str, T)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

/// What is imported of a file or folder.
#[track_caller]
pub fn imported(input: &Path, out: &Path, export: Export, redact: bool) -> Imported {
    let options = ImportOptions { load: LoadOptions::default(), export, redact };
    let imported = import(&[input.to_owned()], out, &options);
    imported.unwrap_or_else(|error| panic!("{error}"))
}

/// Names of the files that a data set is of.
pub fn files(dataset: &Dataset) -> Vec<&str> {
    dataset.files.iter().map(|(name, _)| name.as_str()).collect()
}

/// Ids of its sessions.
pub fn ids(dataset: &Dataset) -> Vec<&str> {
    dataset.sessions.iter().map(|session| session.id.as_str()).collect()
}

pub fn try_read(text: &str) -> Result<Dataset, DatasetError> {
    load_reader("file.jsonl", text.as_bytes(), &LoadOptions::default())
}

/// The only session of a recording.
pub fn read(text: &str) -> Session {
    let mut dataset = try_read(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(dataset.sessions.len(), 1);
    dataset.sessions.remove(0)
}

pub fn lines(records: &[Json]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// Roles and texts, a result with its call.
pub fn outline(session: &Session) -> Vec<String> {
    let messages = session.messages.iter();
    let line = messages.map(|message| match message.tool_result() {
        Some((call, text)) => format!("{call}: {text}"),
        None => format!("{}: {}", message.role.as_str(), message.first_text()),
    });
    line.collect()
}
