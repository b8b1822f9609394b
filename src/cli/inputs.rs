//! What INPUT means: a bundled data set, a file, a folder, or standard input.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;

use super::wire;
use crate::failure::{Exit, Failure};
use recap_core::model::alike;
use recap_core::text::{counted, harmless};
use recap_formats as dataset;
use recap_formats::{Dataset, DatasetError, LoadOptions, Problem};

/// The data set that runs when no INPUT is given.
pub(super) const DEFAULT: &str = "quickstart";

/// How inputs are read.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct ReadOptions {
    /// Bytes to which each packed input (gzip, zstd, zip) may unpack (500M, 2G) [default: 1G, and
    /// 50 times its packed size where that is over 32M]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_unpacked: Option<u64>,
}

impl ReadOptions {
    /// The options for reading data sets.
    pub fn options(self) -> LoadOptions {
        LoadOptions { max_unpacked: self.max_unpacked, ..LoadOptions::default() }
    }
}

/// Bytes as typed: a number, of kibi-, mebi- or gibibytes with K, M or G.
fn size(typed: &str) -> Result<u64, String> {
    let (number, shift) = match typed.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&typed[..at], 10),
        Some((at, 'm' | 'M')) => (&typed[..at], 20),
        Some((at, 'g' | 'G')) => (&typed[..at], 30),
        _ => (typed, 0),
    };
    let bytes = number.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    bytes.ok_or_else(|| "a size is expected, such as 500M or 2G".to_owned())
}

/// Loads every input. Several files of one folder are sessions of one data set,
/// named after the folder: `recap bench ~/sessions/*.jsonl` is one table. If
/// one of several files is broken, it is set aside, as in a folder.
pub(super) fn load(inputs: &[String], options: &LoadOptions) -> Result<Vec<Dataset>, Failure> {
    if inputs.is_empty() {
        return Ok(vec![one(DEFAULT, options)?]);
    }
    let mut datasets: Vec<Dataset> = Vec::new();
    let mut set_aside = Vec::new();
    let folders: Vec<Option<PathBuf>> = inputs.iter().map(|input| folder_of(input)).collect();
    let mut together: BTreeMap<&PathBuf, Vec<&Path>> = BTreeMap::new();
    for (input, folder) in inputs.iter().zip(&folders) {
        folder.iter().for_each(|folder| together.entry(folder).or_default().push(Path::new(input)));
    }
    for (input, folder) in inputs.iter().zip(&folders) {
        let files = folder.as_ref().and_then(|folder| together.get(folder));
        let loaded = match files.filter(|files| files.len() > 1) {
            Some(files) if files[0] != Path::new(input) => continue,
            Some(files) => dataset::load_files(&folder_name(files[0]), files, options),
            None => match one(input, options) {
                Err(error) if inputs.len() > 1 && Path::new(input).is_file() => {
                    Err(vec![format!("{input}: {}", error.reason())])
                }
                read => Ok(read.map_err(|error| mistyped(input, error))?),
            },
        };
        match loaded {
            Ok(loaded) => match datasets.iter_mut().find(|known| known.name == loaded.name) {
                Some(known) => join(known, loaded),
                None => datasets.push(loaded),
            },
            Err(aside) => set_aside.extend(aside),
        }
    }
    let aside = set_aside.iter().map(|file| format!("set aside: {file}"));
    match datasets.first_mut() {
        Some(first) => first.warnings.extend(aside),
        None => {
            let read = format!("no session could be read:\n{}", set_aside.join("\n"));
            return Err(Failure::with_code(Exit::Incomplete, read).help("mend one of them"));
        }
    }
    Ok(datasets)
}

/// The folder of an input that is a file.
fn folder_of(input: &str) -> Option<PathBuf> {
    let path = Path::new(input);
    path.is_file().then(|| path.canonicalize().ok()?.parent().map(Path::to_owned)).flatten()
}

/// The name of a file's folder as typed, so that a run has the same names wherever its folder lies.
fn folder_name(file: &Path) -> String {
    let name = file.parent().and_then(Path::file_name);
    name.map_or_else(|| "sessions".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn join(known: &mut Dataset, more: Dataset) {
    known.agent = known.agent.take().filter(|agent| more.agent.as_ref() == Some(agent));
    known.sessions.extend(more.sessions);
    known.warnings.extend(more.warnings);
    known.files.extend(more.files);
    known.questions.extend(more.questions);
}

/// The error for an input that is neither on disk nor bundled, with a similar bundled name.
fn mistyped(input: &str, error: DatasetError) -> Failure {
    let like = alike(input, dataset::bundled_names(), 0.85);
    match (&error.problem, like.first()) {
        (Problem::Missing, Some(name)) => {
            Failure::usage(error.to_string()).help(format!("did you mean the bundled `{name}`?"))
        }
        _ => error.into(),
    }
}

fn one(input: &str, options: &LoadOptions) -> Result<Dataset, DatasetError> {
    if input == "-" {
        return dataset::load_reader("stdin", std::io::stdin().lock(), options);
    }
    // A file on disk takes precedence over a bundled name.
    if !Path::new(input).exists()
        && let Some(bundled) = dataset::bundled(input)
    {
        return bundled;
    }
    dataset::load(Path::new(input), options)
}

// Sessions that agents keep on this machine: for `--latest`, and for `recap` without
// a command.

/// Folders below this depth are not looked into.
const DEPTH: usize = 6;

/// An agent and where it keeps its sessions.
struct Agent {
    name: &'static str,
    /// Names its home folder.
    variable: &'static str,
    /// Its home folder in that of the user.
    home: &'static str,
    /// The folder of the sessions in it.
    sessions: &'static str,
    /// How the name of a file of a session begins, and how it may end.
    begins: &'static str,
    ends: &'static [&'static str],
}

const fn agent(
    [name, variable]: [&'static str; 2],
    [home, sessions, begins]: [&'static str; 3],
    ends: &'static [&'static str],
) -> Agent {
    Agent { name, variable, home, sessions, begins, ends }
}

impl Agent {
    fn keeps(&self, name: &str) -> bool {
        // Logs of Claude Code's subagents are part of their sessions.
        let alone = !name.starts_with("agent-");
        alone && name.starts_with(self.begins) && self.ends.iter().any(|end| name.ends_with(end))
    }
}

const LOGS: &[&str] = &[".jsonl", ".jsonl.zst"];

/// How the name of a store ends, which holds all sessions of its agent.
const STORE: &str = ".db";

const AGENTS: [Agent; 7] = [
    agent(["Claude Code", "CLAUDE_CONFIG_DIR"], [".claude", "projects", ""], LOGS),
    agent(["Codex CLI", "CODEX_HOME"], [".codex", "sessions", "rollout-"], LOGS),
    agent(["pi", "PI_CODING_AGENT_DIR"], [".pi/agent", "sessions", ""], LOGS),
    agent(["Gemini CLI", "GEMINI_CLI_HOME"], ["", ".gemini/tmp", "session-"], &[".json", ".jsonl"]),
    agent(["Copilot CLI", "COPILOT_HOME"], [".copilot", "session-state", "events"], LOGS),
    agent(["Kimi Code", "KIMI_CODE_HOME"], [".kimi-code", "sessions", "wire"], LOGS),
    agent(["OpenCode", "XDG_DATA_HOME"], [".local/share", "opencode", "opencode"], &[STORE]),
];

/// The sessions of one agent.
#[derive(Debug)]
pub(super) struct Recordings {
    agent: &'static str,
    folder: PathBuf,
    count: usize,
    newest: (SystemTime, PathBuf),
}

/// The newest session of all agents with those that lie beside it: the folder of a project, or the
/// store of all. At what size to compact takes several.
///
/// # Errors
/// If there is none.
pub(super) fn latest() -> Result<PathBuf, Failure> {
    let found = recordings();
    let newest = found.iter().max_by_key(|recordings| &recordings.newest);
    let Some(Recordings { agent, newest: (_, path), .. }) = newest else {
        return Err(Failure::with_code(Exit::Nothing, "no session of an agent was found")
            .help(format!("looked in {}; name a file or a folder instead", places())));
    };
    let what = if is_store(path) { "store" } else { "session" };
    wire::say(&format!("newest {what} ({agent}): {}; looked in {}", path.display(), places()));
    Ok(match path.parent() {
        Some(folder) if !is_store(path) => folder.to_owned(),
        _ => path.clone(),
    })
}

/// The folders that are looked into.
fn places() -> String {
    let folders = AGENTS.iter().filter_map(folder);
    let folders: Vec<String> =
        folders.map(|folder| harmless(&folder.display().to_string()).into_owned()).collect();
    folders.join(", ")
}

fn is_store(path: &Path) -> bool {
    path.extension().is_some_and(|end| STORE.ends_with(&*end.to_string_lossy()))
}

/// What `recap` alone says on a terminal: what it found here, and what to run.
pub(super) fn greeting() -> String {
    words(&recordings())
}

fn words(found: &[Recordings]) -> String {
    let mut text = "recap measures what the context compression of an LLM agent loses, saves and \
                    costs.\n\n"
        .to_owned();
    let mut commands = vec![("recap bench", "measure the bundled sessions, in seconds")];
    for recordings in found {
        let Recordings { agent, folder, count, newest: (_, newest) } = recordings;
        let what = if is_store(newest) { "store" } else { "session" };
        let folder = harmless(&folder.display().to_string()).into_owned();
        let _ = writeln!(text, "{agent}: {} in {folder}", counted(*count, what));
    }
    if !found.is_empty() {
        text.push('\n');
        commands.insert(
            0,
            ("recap bench --latest --open", "measure the newest of them, and those beside it"),
        );
    }
    commands.push(("recap bench FILE|FOLDER", "measure your own sessions"));
    commands.push(("recap --help", "list all commands"));
    for (command, about) in commands {
        let _ = writeln!(text, "  {command:<28} {about}");
    }
    text
}

/// The sessions of every agent that has some.
fn recordings() -> Vec<Recordings> {
    AGENTS.iter().filter_map(|agent| within(agent, folder(agent)?)).collect()
}

/// Where an agent keeps its sessions.
fn folder(agent: &Agent) -> Option<PathBuf> {
    let own = wire::variable(agent.variable).map(PathBuf::from);
    Some(own.or_else(|| Some(std::env::home_dir()?.join(agent.home)))?.join(agent.sessions))
}

/// The sessions in a folder; `None` where there are none.
fn within(agent: &Agent, folder: PathBuf) -> Option<Recordings> {
    let (mut count, mut newest) = (0, None);
    each_file(&folder, DEPTH, &mut |modified, path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        if !name.is_some_and(|name| agent.keeps(&name)) {
            return;
        }
        count += 1;
        if newest.as_ref().is_none_or(|(time, other)| (time, other) < (&modified, &path)) {
            newest = Some((modified, path));
        }
    });
    Some(Recordings { agent: agent.name, folder, count, newest: newest? })
}

/// Every file below a folder with the time of its last change. What cannot be read
/// is left out: it is no session that could be measured.
fn each_file(folder: &Path, depth: usize, found: &mut impl FnMut(SystemTime, PathBuf)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        // Links are not followed, so that no folder is entered twice.
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        // Logs of subagents are read with the session.
        let is_agents = name == "subagents" || name.to_string_lossy().starts_with("agent-");
        if kind.is_dir() && depth > 1 && !is_agents {
            each_file(&path, depth - 1, found);
        } else if kind.is_file() {
            let modified = entry.metadata().and_then(|meta| meta.modified());
            found(modified.unwrap_or(SystemTime::UNIX_EPOCH), path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn log(folder: &Path, name: &str, seconds: u64) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = fs::File::create(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        path
    }

    #[test]
    fn newest_log_of_folder_is_found_in_subfolders() {
        let desk = tempfile::tempdir().unwrap();
        log(desk.path(), "a/old.jsonl", 10);
        let new = log(desk.path(), "b/c/new.jsonl", 30);
        log(desk.path(), "b/notes.txt", 50);
        log(desk.path(), "b/c/new/subagents/deep/log.jsonl", 80);
        log(desk.path(), "b/agent-1.jsonl", 90);
        let found = within(&AGENTS[2], desk.path().to_owned()).unwrap();
        assert_eq!((found.count, found.newest.1), (2, new));
        assert!(within(&AGENTS[2], desk.path().join("absent")).is_none());
        // Gemini CLI keeps other files beside its sessions.
        log(desk.path(), "tmp/1/logs.json", 70);
        let chat = log(desk.path(), "tmp/1/chats/session-a.json", 60);
        let found = within(&AGENTS[3], desk.path().to_owned()).unwrap();
        assert_eq!((found.count, found.newest.1), (1, chat));
    }

    #[test]
    fn only_recordings_that_were_found_are_proposed() {
        let desk = tempfile::tempdir().unwrap();
        log(desk.path(), "a.jsonl", 10);
        let found = [within(&AGENTS[2], desk.path().to_owned()).unwrap()];
        let text = words(&found);
        assert!(text.contains("pi: 1 session in "), "{text}");
        assert!(text.contains("recap bench --latest"), "{text}");
        assert!(!words(&[]).contains("--latest"));
    }
}
