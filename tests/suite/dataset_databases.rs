//! Stores of agents in SQLite as files: what is written meanwhile, packed or cut off. What is
//! read of their rows is in `tests/fixtures/cases/stores.txt`.

use std::path::{Path, PathBuf};

use recap_formats::{Dataset, DatasetError, LoadOptions, load};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::dataset_cases::OPENCODE;
use crate::outline::{dataset as read, files};

struct Store {
    folder: TempDir,
    path: PathBuf,
    db: Connection,
}

/// A store of OpenCode with settings of the database.
fn store(settings: &str) -> Store {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opencode.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(&format!("{settings}{OPENCODE}")).unwrap();
    Store { folder, path, db }
}

const WITH_LOG: &str = "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;";

fn try_read(path: &Path) -> Result<Dataset, DatasetError> {
    load(path, &LoadOptions::default())
}

/// A session of a question and its answer.
fn session(db: &Connection, number: usize) {
    let said = |who: &str, role: &str| {
        format!(
            "INSERT INTO message VALUES ('{who}{number}', 's{number}', {number}, 1, '{{\"role\":\"{role}\"}}');
             INSERT INTO part VALUES ('{who}p{number}', '{who}{number}', 's{number}', {number}, 1,
                 '{{\"type\":\"text\",\"text\":\"The limit is 4210.\"}}');"
        )
    };
    let session = format!(
        "INSERT INTO session VALUES ('s{number}', 'p', NULL, 's', '/x', 't', '1', {number}, 1);"
    );
    db.execute_batch(&[session, said("u", "user"), said("a", "assistant")].concat()).unwrap();
}

/// Names and bytes of all files of a folder.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|e| (e.file_name().to_string_lossy().into_owned(), std::fs::read(e.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn live_store_reads_with_log_and_stays_unchanged() {
    let store = store(WITH_LOG);
    session(&store.db, 0);
    let before = contents(store.folder.path());
    assert_eq!(before.len(), 3, "the database, its log and its index");
    for input in [store.path.as_path(), store.folder.path()] {
        let dataset = read(input);
        assert_eq!(dataset.sessions.len(), 1);
        assert_eq!(files(&dataset), ["opencode.db", "opencode.db-wal"]);
        let hash = |at: usize| blake3::hash(&before[at].1).to_hex().to_string();
        assert_eq!(dataset.files[0].1, hash(0));
        assert_eq!(dataset.files[1].1, hash(2));
        assert_eq!(dataset.warnings.len(), 1);
        assert!(dataset.warnings[0].contains("public schema"), "{:?}", dataset.warnings);
    }
    assert_eq!(contents(store.folder.path()), before);
}

#[test]
fn log_that_ends_within_a_change_is_told() {
    let store = store(WITH_LOG);
    store.db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    for n in 0..9 {
        session(&store.db, n);
    }
    let log = std::fs::read(store.folder.path().join("opencode.db-wal")).unwrap();
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(&store.path, copy.path().join("opencode.db")).unwrap();
    let mut told = 0;
    for end in (0..=log.len()).step_by(997).chain([log.len()]) {
        std::fs::write(copy.path().join("opencode.db-wal"), &log[..end]).unwrap();
        let Ok(dataset) = try_read(&copy.path().join("opencode.db")) else { continue };
        let said = dataset.warnings.iter().any(|text| text.contains("ends within a change"));
        let is_whole = end == log.len() || (end - 32) % (24 + 4096) == 0;
        assert!(said || is_whole, "{end} of {}: {:?}", log.len(), dataset.warnings);
        told += usize::from(said);
    }
    let whole = read(copy.path().join("opencode.db"));
    assert_eq!((whole.sessions.len(), whole.warnings.len()), (9, 1), "{:?}", whole.warnings);
    assert!(told > 9, "{told}");
}

#[test]
fn packed_store_is_read_truncated_store_is_refused() {
    let Store { folder, path, db } = store("");
    for n in 0..40 {
        session(&db, n);
    }
    db.close().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let packed = folder.path().join("opencode.db.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, &bytes).unwrap();
    std::fs::write(&packed, encoder.finish().unwrap()).unwrap();
    assert_eq!(read(&packed).sessions.len(), 40);
    let cut = folder.path().join("cut.db");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let error = try_read(&cut).unwrap_err().to_string();
    assert!(error.contains("broken database"), "{error}");
}

/// A reader that looked through all rows for each session would not come to an end here.
#[test]
fn many_sessions_are_read_in_linear_time() {
    let store = store("PRAGMA synchronous = OFF;");
    store.db.execute_batch("BEGIN").unwrap();
    (0..20_000).for_each(|n| session(&store.db, n));
    store.db.execute_batch("COMMIT").unwrap();
    assert_eq!(read(&store.path).sessions.len(), 20_000);
}
