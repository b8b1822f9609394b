//! The stores of agents that keep their sessions in a SQLite database.
//!
//! Invariant: the original is only read, byte by byte, as any input is: it is
//! copied, and SQLite opens the copy alone. Nothing of the schema runs (views,
//! triggers, generated columns), and the work is bounded by the size of the file.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Read};
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Statement, params_from_iter};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value as Json};
use tempfile::TempDir;

use super::draft::{Draft, check};
use super::error::{DatasetError, Problem};
use super::format::Take;
use super::formats::content::{Fields, text_of};
use super::gathered::Aside;
use super::source::{MAX_DOCUMENT, MAX_LINE, Origin, Source};
use super::unpack::{Allowance, Frames, Hashing, ZSTD};
use recap_core::model::SIDECHAIN;
use recap_core::text::{brief, counted, excerpt};

/// Columns that hold what was said.
const CONTENT: [&str; 8] =
    ["body", "content", "data", "event_json", "message", "messages", "parts", "payload"];

/// First bytes of a database.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Largest store that is read, in bytes: those of busy users have some gigabytes.
const MAX_DATABASE: u64 = 16 << 30;

/// Instructions of SQLite for every byte of the store, and those that any store
/// may take: a damaged tree may lead to the same rows without end.
const WORK: (u64, u64) = (16, 1_000_000);

/// Instructions after which the work is looked at.
const STRIDE: i32 = 1_000;

/// What follows the name of a database in that of its write-ahead log, which
/// holds what was written last.
const LOG: &str = "-wal";

/// A table as the text of its definition tells it.
pub(super) struct Table {
    pub(super) name: String,
    definition: String,
}

impl Table {
    /// Whether the definition names all of these columns.
    pub(super) fn has(&self, columns: &[&str]) -> bool {
        let words = self.definition.split(|c: char| !c.is_alphanumeric() && c != '_');
        let words: BTreeSet<&str> = words.collect();
        columns.iter().all(|column| words.contains(column))
    }
}

/// The tables of a database by its first bytes, in which the definitions stand
/// as text. `None` where it is none.
pub(super) fn tables(bytes: &[u8]) -> Option<Vec<Table>> {
    bytes.starts_with(MAGIC).then(|| defined(bytes))
}

/// The tables whose definitions are in these bytes.
pub(super) fn defined(bytes: &[u8]) -> Vec<Table> {
    let text = String::from_utf8_lossy(bytes);
    let mut tables: Vec<Table> = Vec::new();
    for definition in text.split("CREATE TABLE ").skip(1) {
        let rest = definition.trim_start_matches("IF NOT EXISTS ");
        let rest = rest.trim_start_matches(['"', '`', '[', '\'']);
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end > 0 {
            let definition: String = rest.chars().take(MOST_DEFINED).collect();
            tables.push(Table { name: rest[..end].to_owned(), definition });
        }
    }
    tables
}

/// Most characters of the definition of a table.
const MOST_DEFINED: usize = 16 << 10;

impl Source<'_> {
    /// Whether the input is a SQLite database. Nothing may have been read yet.
    pub(super) fn is_database(&mut self) -> Result<bool, DatasetError> {
        Ok(self.head(MAGIC.len())? == MAGIC)
    }

    /// The first bytes of the write-ahead log, if there is one.
    pub(super) fn log_head(&self, most: usize) -> Result<Vec<u8>, DatasetError> {
        let mut bytes = Vec::new();
        if let Some(log) = self.log()? {
            log.take(most as u64).read_to_end(&mut bytes).map_err(|e| self.io(e))?;
        }
        Ok(bytes)
    }

    fn log(&self) -> Result<Option<File>, DatasetError> {
        let Some(origin) = &self.origin else { return Ok(None) };
        let path = beside(&origin.path, LOG);
        if !path.is_file() {
            return Ok(None);
        }
        File::open(path).map(Some).map_err(|e| self.io(e))
    }

    /// Copies the rest of the input, and the write-ahead log beside it, and opens
    /// the copy.
    ///
    /// # Errors
    /// An input that is no whole database, is too large, or was written to while
    /// it was copied.
    pub(super) fn database(&mut self) -> Result<Database, DatasetError> {
        let folder = tempfile::Builder::new().prefix("recap-").tempdir().map_err(|e| self.io(e))?;
        let path = folder.path().join("store.db");
        let mut file = BufWriter::new(File::create(&path).map_err(|e| self.io(e))?);
        let mut size = self.copy_rest(&mut file, MAX_DATABASE)?;
        file.into_inner().map_err(|e| self.io(e.into_error()))?;
        if let Some(log) = self.log()? {
            let mut hashing = Hashing::new(Box::new(log.take(MAX_DATABASE)));
            let mut copy = File::create(beside(&path, LOG)).map_err(|e| self.io(e))?;
            size += std::io::copy(&mut hashing, &mut copy).map_err(|e| self.io(e))?;
            drop(copy);
            let unread = unread_pages(&beside(&path, LOG)).map_err(|e| self.io(e))?;
            if unread > 0 {
                self.warn(format!(
                    "its write-ahead log ends within a change: {} not read",
                    counted(unread as usize, "changed page")
                ));
            }
            self.beside.push((LOG, hashing.hasher.finalize().to_hex().to_string()));
        }
        if size > MAX_DATABASE {
            let message = format!("it is larger than {MAX_DATABASE} bytes");
            return Err(self.error(None, plain(&message)));
        }
        let changed =
            self.origin.as_ref().is_some_and(|origin| *origin != Origin::of(&origin.path));
        if changed {
            return Err(self.error(None, plain("it was written to while it was copied")));
        }
        let journal = self.origin.as_ref().map(|origin| beside(&origin.path, "-journal"));
        if journal.is_some_and(|path| std::fs::metadata(path).is_ok_and(|found| found.len() > 0)) {
            self.warn("a change of the database was not finished: what it wrote may be missing");
        }
        let opened = Database::open(&path, size, self.allowance, folder);
        opened.map_err(|problem| self.error(None, problem))
    }
}

/// How many changed pages stand in a write-ahead log behind the last change that is
/// complete: SQLite leaves them out without a word (sqlite.org/walformat.html).
fn unread_pages(log: &Path) -> std::io::Result<u64> {
    let mut reader = std::io::BufReader::new(File::open(log)?);
    let mut head = [0; 32];
    if reader.read_exact(&mut head).is_err() {
        return Ok(u64::from(reader.get_ref().metadata()?.len() > 0));
    }
    let number = |bytes: &[u8], at: usize| {
        bytes[at..at + 4].iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))
    };
    let (page, salts) = (number(&head, 8), [number(&head, 16), number(&head, 20)]);
    let mut unread = 0;
    loop {
        let mut frame = [0; 24];
        let read = (&mut reader).take(24).read(&mut frame)?;
        // Those of an earlier use of the log follow the newest ones.
        let is_own = [number(&frame, 8), number(&frame, 12)] == salts;
        if read == 0 || (read == 24 && !is_own) {
            return Ok(unread);
        }
        let body = std::io::copy(&mut (&mut reader).take(page), &mut std::io::sink())?;
        unread += 1;
        if read < 24 || body < page {
            return Ok(unread);
        }
        if number(&frame, 4) > 0 {
            unread = 0;
        }
    }
}

fn beside(path: &Path, end: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The copy of a store.
pub(super) struct Database {
    // Closed before its folder is removed.
    connection: Connection,
    size: u64,
    allowance: Allowance,
    unpacked: Cell<u64>,
    _folder: TempDir,
}

/// The rows that a format needs of a table.
pub(super) struct Wanted {
    pub(super) table: &'static str,
    /// The column by which rows are looked up; without one all are read.
    pub(super) key: Option<&'static str>,
    /// Columns that must be there, that which names a row first.
    pub(super) columns: &'static [&'static str],
    /// Columns that not every version has.
    pub(super) optional: &'static [&'static str],
    /// Columns in whose order rows come.
    pub(super) order: &'static [&'static str],
}

impl Database {
    fn open(
        path: &Path,
        size: u64,
        allowance: Allowance,
        folder: TempDir,
    ) -> Result<Database, Problem> {
        let open = || {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let mut connection = Connection::open_with_flags(path, flags)?;
            connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_LINE as i32)?;
            for (config, on) in [
                (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
                (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
                (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
                (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            ] {
                connection.set_db_config(config, on)?;
            }
            let (each, free) = WORK;
            let mut left = size.saturating_mul(each).saturating_add(free) / STRIDE as u64;
            let is_spent = move || {
                left = left.saturating_sub(1);
                left == 0
            };
            connection.progress_handler(STRIDE, Some(is_spent))?;
            connection.execute_batch("PRAGMA cell_size_check = ON; PRAGMA synchronous = OFF;")?;
            Ok(connection)
        };
        let connection = open().map_err(|error: rusqlite::Error| broken("", &error))?;
        let unpacked = Cell::new(0);
        Ok(Database { connection, size, allowance, unpacked, _folder: folder })
    }

    /// Prepares to read a table, which must really be one; `None` where the store has none.
    ///
    /// # Errors
    /// A view in its place, and a column that is missing or computed.
    pub(super) fn rows(&self, wanted: &Wanted) -> Result<Option<Rows<'_>>, Problem> {
        let table = wanted.table;
        let failed = |error: rusqlite::Error| broken(&format!("table `{table}`: "), &error);
        let kind = "SELECT type FROM pragma_table_list(?1) WHERE schema = 'main'";
        let kind = self.connection.query_row(kind, [table], |row| row.get::<_, String>(0));
        let Some(kind) = kind.optional().map_err(failed)? else { return Ok(None) };
        if kind != "table" {
            return Err(plain(&format!("`{table}` is a {}, no table", excerpt(&kind))));
        }
        let there = self.columns(table).map_err(failed)?;
        for column in wanted.columns.iter().chain(&wanted.key) {
            if !there.iter().any(|name| name == column) {
                return Err(plain(&format!("table `{table}` has no stored column `{column}`")));
            }
        }
        let order = wanted.order.join(", ");
        let mut from = format!("\"{table}\"");
        if let Some(key) = wanted.key {
            // An index of the copy's own: the recorded ones may be missing or damaged.
            let mut columns = vec![key];
            columns.extend(wanted.order.iter().filter(|column| **column != "rowid"));
            let columns = columns.join(", ");
            let index = format!("CREATE INDEX \"recap {table}\" ON \"{table}\" ({columns})");
            self.connection.execute_batch(&index).map_err(failed)?;
            from = format!("{from} INDEXED BY \"recap {table}\" WHERE {key} = ?1");
        }
        let shown = wanted.columns.iter().chain(wanted.optional).map(|name| {
            let is_there = there.iter().any(|column| column == name);
            if is_there { format!("\"{name}\"") } else { format!("NULL AS \"{name}\"") }
        });
        let shown: Vec<String> = shown.collect();
        let sql = format!("SELECT {} FROM {from} ORDER BY {order}", shown.join(", "));
        let statement = self.connection.prepare(&sql).map_err(failed)?;
        Ok(Some(Rows { database: self, statement, table }))
    }

    /// The names of all tables, views and the like, each with its kind.
    pub(super) fn tables(&self) -> Result<Vec<(String, String)>, Problem> {
        let sql = "SELECT name, type FROM pragma_table_list WHERE schema = 'main' ORDER BY name";
        let tables = self.connection.prepare(sql).and_then(|mut tables| {
            let rows = tables.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<_>>()
        });
        tables.map_err(|error| broken("", &error))
    }

    /// Whether a table holds another session than these, or messages besides.
    pub(super) fn has_other_sessions(
        &self,
        table: &str,
        sessions: &FxHashSet<String>,
    ) -> rusqlite::Result<bool> {
        let columns = self.columns(table)?;
        let has = |names: &[&str]| columns.iter().any(|name| names.contains(&name.as_str()));
        let key = if has(&["session_id"]) { "session_id" } else { "id" };
        let is_read = table.contains("message") && has(&CONTENT);
        if !has(&[key]) || key == "session_id" && !has(&CONTENT) {
            return Ok(false);
        }
        let table = table.replace('"', "\"\"");
        let sql = format!("SELECT DISTINCT CAST(\"{key}\" AS TEXT) FROM \"{table}\"");
        let mut keys = self.connection.prepare(&sql)?;
        let mut keys = keys.query_map([], |row| row.get::<_, Option<String>>(0))?;
        let is_other =
            |key: Option<String>| key.is_some_and(|key| is_read || !sessions.contains(&key));
        keys.try_fold(false, |found, key| Ok(found || is_other(key?)))
    }

    /// The number of rows of a table.
    pub(super) fn count(&self, wanted: &Wanted) -> Result<usize, Problem> {
        let table = wanted.table;
        let sql = format!("SELECT count(*) FROM \"{table}\"");
        let count = self.connection.query_row(&sql, [], |row| row.get::<_, i64>(0));
        let count = count.map_err(|error| broken(&format!("table `{table}`: "), &error))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// The stored columns of a table: computed ones are hidden.
    fn columns(&self, table: &str) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT name FROM pragma_table_xinfo(?1) WHERE hidden = 0";
        let mut columns = self.connection.prepare(sql)?;
        columns.query_map([table], |row| row.get(0))?.collect()
    }

    /// The text of a cell, which may be packed with zstd: all of them together may be no larger
    /// than a packed file of the store's size may be.
    fn text(&self, cell: &[u8]) -> Result<String, Problem> {
        let mut unpacked = self.unpacked.get();
        let bytes = if cell.starts_with(&ZSTD) {
            let broken = |error| plain(&format!("a packed cell: {error}"));
            let read = self.allowance.read(Frames::new(cell), self.size, &mut unpacked, broken);
            self.unpacked.set(unpacked);
            read?
        } else {
            cell.to_vec()
        };
        String::from_utf8(bytes).map_err(|_| plain("a cell is no UTF-8 text"))
    }
}

/// A problem of a database.
pub(super) fn plain(message: &str) -> Problem {
    let remedy = "check that the file is whole, and read it again while its agent does not write";
    Problem::other(format!("broken database: {}", brief(message)), remedy)
}

/// What SQLite says of a place in a database.
pub(super) fn broken(place: &str, error: &rusqlite::Error) -> Problem {
    let message = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::OperationInterrupted) => {
            "it takes more work than a store of its size can".to_owned()
        }
        Some(rusqlite::ErrorCode::TooBig) => format!("a cell is larger than {MAX_LINE} bytes"),
        _ => error.to_string(),
    };
    plain(&format!("{place}{message}"))
}

// The rows of a store's table, with their places in errors.

/// A table that is being read.
pub(super) struct Rows<'d> {
    database: &'d Database,
    statement: Statement<'d>,
    table: &'static str,
}

impl Rows<'_> {
    /// Reads the rows with this key, or all of a table without one; the columns of each are its
    /// fields.
    ///
    /// # Errors
    /// Damage, with the row before it, and what `read` refuses.
    pub(super) fn each(
        &mut self,
        key: Option<&str>,
        mut read: impl FnMut(Fields) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let Rows { database, statement, table } = self;
        let (mut last, mut held) = (String::new(), 0_u64);
        let failed = |last: &str, error: rusqlite::Error| {
            let after = match last {
                "" => String::new(),
                last => format!(", after row `{}`", excerpt(last)),
            };
            broken(&format!("table `{table}`{after}: "), &error)
        };
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query(params_from_iter(key)).map_err(|e| failed("", e))?;
        while let Some(row) = rows.next().map_err(|error| failed(&last, error))? {
            let mut fields = Map::new();
            for (at, name) in names.iter().enumerate() {
                let cell = row.get_ref(at).unwrap_or(ValueRef::Null);
                held = held.saturating_add(
                    cell.as_bytes_or_null().ok().flatten().map_or(8, <[u8]>::len) as u64,
                );
                let value = match cell {
                    ValueRef::Null => Json::Null,
                    ValueRef::Integer(number) => number.into(),
                    ValueRef::Real(number) => number.into(),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => database.text(bytes)?.into(),
                };
                fields.insert(name.clone(), value);
            }
            if held > MAX_DOCUMENT {
                return Err(Problem::too_long());
            }
            last = names.first().map_or_else(String::new, |name| text_of(&fields[name]));
            read(Fields(Json::Object(fields))).map_err(|problem| {
                plain(&format!("table `{table}`, row `{}`: {problem}", excerpt(&last)))
            })?;
        }
        Ok(())
    }
}

// The sessions of a store: which are subagents of which, and what becomes of
// one that cannot be read.

/// The warning about stores of agents whose logs were at hand, but no store.
pub(super) const UNTRIED: &str = "the store is read from its public schema, without one at hand: \
     check what was read, and report what is wrong";

/// A session as the store lists it.
pub(super) struct Listed {
    pub(super) id: String,
    /// The session whose agent started it.
    pub(super) parent: Option<String>,
    /// What else the store says of it.
    pub(super) own: Json,
}

/// Reads the listed sessions one after another. Subagents become sessions of
/// their own, or are counted at the session that started them (how-it-works §3). A
/// session that cannot be read is named in a warning, as a broken file of a
/// folder is; where none can be read, that is the error.
///
/// # Errors
/// Damage of the database itself, and the first problem where no session is left.
pub(super) fn read_sessions(
    source: &mut Source<'_>,
    sessions: Vec<Listed>,
    take: &mut Take<'_>,
    mut read: impl FnMut(&Listed) -> Result<Draft, Problem>,
) -> Result<(), DatasetError> {
    let mut taken = 0;
    let mut first: Option<Problem> = None;
    for tree in trees(&sessions) {
        let mut drafts: Vec<Draft> = Vec::new();
        for (place, &at) in tree.iter().enumerate() {
            let Some(listed) = sessions.get(at) else { continue };
            let draft = read(listed).and_then(|draft| check(&draft.session).map(|()| draft));
            let mut draft = match draft {
                Ok(draft) => draft,
                Err(problem @ Problem::Unpacked(_)) => return Err(source.error(None, problem)),
                Err(problem) => {
                    source.warn(format!("set aside: session {}: {problem}", listed.id));
                    first.get_or_insert(problem);
                    continue;
                }
            };
            if draft.session.messages.is_empty() {
                continue;
            }
            draft.finish();
            match drafts.first_mut() {
                Some(parent) if !source.options.sidechains => {
                    Aside::of(&draft.session, 0).add_to(&mut parent.session);
                }
                Some(parent) => {
                    draft.session.id = format!("{}{SIDECHAIN}{place}", parent.session.id);
                    drafts.push(draft);
                }
                None => drafts.push(draft),
            }
        }
        taken += drafts.len();
        drafts.into_iter().try_for_each(|draft| take(source, draft))?;
    }
    match first {
        _ if taken > 0 => Ok(()),
        Some(problem) => Err(source.error(None, problem)),
        None => Err(source.error(None, nothing(sessions.len()))),
    }
}

/// Words in the names of tables that hold sessions.
const NAMES: [&str; 6] = ["session", "message", "conversation", "thread", "transcript", "chat"];

/// Tells of tables that are not `read` and hold another session than the listed ones, or
/// messages of these.
///
/// # Errors
/// Damage of the database.
pub(super) fn tell_of_unread(
    source: &mut Source<'_>,
    database: &Database,
    read: &[&str],
    listed: &FxHashSet<String>,
) -> Result<(), DatasetError> {
    let mut tables = source.whole(database.tables())?;
    tables.retain(|(name, kind)| {
        let is_read = kind != "table" || read.contains(&name.as_str());
        !is_read && NAMES.iter().any(|word| name.contains(word))
    });
    for (table, _) in tables {
        let found = database.has_other_sessions(&table, listed);
        let found = found.map_err(|error| broken(&format!("table `{table}`: "), &error));
        if source.whole(found)? {
            source.warn(format!(
                "left out: the table `{}`, which holds sessions or messages of a newer version: \
                 let the agent export them",
                excerpt(&table)
            ));
        }
    }
    Ok(())
}

/// A store without a message.
fn nothing(sessions: usize) -> Problem {
    let what = match sessions {
        0 => "the store is empty: it lists no session".to_owned(),
        n => format!("the store lists {}, none with a message", counted(n, "session")),
    };
    let remedy = "the agent may keep its sessions in another store, by user or by project: \
                  `recap bench --latest` looks where it usually does; what is still in the log of a running agent \
                  (`-wal`) is read where that stands beside the store";
    Problem::other(what, remedy)
}

/// Positions of the sessions by trees: one without a parent in the store first, then all that
/// it started, in the order of the list. Of a circle the first one counts as the root.
fn trees(sessions: &[Listed]) -> Vec<Vec<usize>> {
    let places: FxHashMap<&String, usize> =
        sessions.iter().enumerate().map(|(at, session)| (&session.id, at)).collect();
    let mut children: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (at, session) in sessions.iter().enumerate() {
        let parent = session.parent.as_ref().and_then(|parent| places.get(parent).copied());
        children.entry(parent).or_default().push(at);
    }
    let roots = children.get(&None).into_iter().flatten().copied();
    let mut seen = vec![false; sessions.len()];
    let mut all = Vec::new();
    for root in roots.chain(0..sessions.len()) {
        let (mut tree, mut open) = (Vec::new(), vec![root]);
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut seen[at], true) {
                tree.push(at);
                open.extend(children.get(&Some(at)).into_iter().flatten().rev());
            }
        }
        all.extend(Some(tree).filter(|tree| !tree.is_empty()));
    }
    all
}
