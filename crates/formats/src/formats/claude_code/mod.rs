//! Sessions of Claude Code: the JSON-lines logs under `~/.claude/projects`.

mod build;
mod record;
mod tree;

use std::collections::BTreeMap;

use self::build::Asides;
use self::record::{Body, Record, read_record, take_from_queue};
use self::tree::Tree;
use super::content::warn_of_branches;
use super::prelude::*;

/// The format of Claude Code's session logs.
pub(super) const FORMAT: Format = Format {
    name: "claude-code",
    describe: "Claude Code session (JSON lines, ~/.claude/projects/*/*.jsonl)",
    tried: Tried::On {
        files: 15,
        compared: "tool results, requests, compactions with trigger and tokens before",
    },
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    // Qwen Code keeps the same record around a message of the Gemini API.
    head.has(&["/type=user|assistant|system|progress /sessionId /uuid"])
        && !head.has(&["/message/parts", "/systemPayload"])
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let mut log = Log::read(source)?;
    let apart = source.options.sidechains;
    if let Some(agent) = log.records.iter().find(|record| record.is_conversation())
        && !apart
        && agent.is_sidechain()
        && log.is_of_subagent()
    {
        let session = agent.header.session_id.as_deref().unwrap_or("it does not name");
        source.warn(format!(
            "the log of a subagent, whose session {session} is not beside it: \
             read as a session of its own"
        ));
        log.records.iter_mut().for_each(|record| record.header.is_sidechain = None);
    }
    let Log { mut records, repeated } = log;
    let mut tree = linked(&mut records, source);
    let (main, sidechains) = split(&records, &tree)
        .map_err(|problem| source.error(records.first().map(|r| r.line), problem))?;
    let stem = source.stem().to_owned();
    let mut asides = Asides::default();
    if !apart {
        let of_agents = |r: &&Record| r.is_sidechain() || matches!(r.body, Body::Progress(_));
        asides.add(records.iter().filter(of_agents));
    }
    let mut drafts = Vec::new();
    let mut one = |id: String, members: &[usize], root: Option<usize>| {
        let built = build::build(&mut records, &mut tree, members, root);
        let mut draft = built.map_err(|(line, problem)| source.error(Some(line), problem))?;
        draft.session.id = id;
        if !draft.session.messages.is_empty() {
            drafts.push(draft);
        }
        Ok::<(), DatasetError>(())
    };
    one(stem.clone(), &main, None)?;
    if apart {
        for (n, (&root, members)) in sidechains.iter().enumerate() {
            one(format!("{stem}{SIDECHAIN}{}", n + 1), members, Some(root))?;
        }
    }
    let skipped = if apart { 0 } else { sidechains.values().map(|m| m.len() as u64).sum() };
    let skipped_apart = subagents(source, &mut asides, sidechains.len(), &mut drafts)?;
    for draft in &drafts {
        warn_of_branches(source, draft, build::ABANDONED);
    }
    if let Some(first) = drafts.first_mut() {
        first.leave_out("record written twice", repeated);
        first.leave_out("torn last line", source.take_torn());
        first.leave_out("sidechain record", skipped + skipped_apart);
        first.session.sidechains.extend(asides.take());
    } else if skipped > 0 {
        source.warn(format!("nothing but sidechain records ({skipped})"));
    }
    drafts.into_iter().try_for_each(|draft| take(source, draft))
}

/// The tree of the records, which are put in the order in which they were written; warns where
/// that or a parent is not as the agent writes it.
fn linked(records: &mut [Record], source: &mut Source<'_>) -> Tree {
    let mut tree = Tree::new(records);
    if tree.is_newest_first() {
        records.reverse();
        tree = Tree::new(records);
        source.warn("its newest record comes first; it was read from its end");
    }
    let lost = tree.lost_parents(records);
    if lost > 0 {
        source.warn(format!(
            "parents that are not in the file: {lost}; \
             each record was put behind the message before it"
        ));
    }
    tree
}

/// Reads the logs of subagents that lie in files of their own: what they used, or
/// the sessions that they are. One that cannot be read is named in a warning.
/// Returns the number of records that are counted and not kept.
fn subagents(
    source: &mut Source<'_>,
    asides: &mut Asides,
    sidechains: usize,
    drafts: &mut Vec<Draft>,
) -> Result<u64, DatasetError> {
    let session = source.stem().to_owned();
    let mut left_out = 0;
    for (n, log) in source.subagents.clone().into_iter().enumerate() {
        let mut own = Source::open(&log, source.options)?;
        let read = Log::read(&mut own).and_then(|mut read| {
            own.settle_aside(read.records.len())?;
            asides.add(read.records.iter().filter(|_| !own.options.sidechains));
            if !own.options.sidechains {
                return Ok((read.records.len() as u64, None));
            }
            read.records.iter_mut().for_each(|record| record.header.is_sidechain = None);
            let mut tree = Tree::new(&read.records);
            let all: Vec<usize> = (0..read.records.len()).collect();
            let built = build::build(&mut read.records, &mut tree, &all, None);
            let mut draft = built.map_err(|(line, problem)| own.error(Some(line), problem))?;
            draft.session.id = format!("{session}{SIDECHAIN}{}", sidechains + n + 1);
            Ok((0, Some(draft)))
        });
        let shown = log.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match read {
            Ok((records, draft)) => {
                left_out += records;
                drafts.extend(draft.filter(|draft| !draft.session.messages.is_empty()));
            }
            Err(error) => source.warn(format!("set aside: {shown}: {}", error.reason())),
        }
        let (hash, warnings) = own.finish()?;
        warnings.into_iter().for_each(|text| source.warn(format!("{shown}: {text}")));
        source.read_with.push((log, hash));
    }
    Ok(left_out)
}

/// The records of a log, in the order of the file.
struct Log {
    records: Vec<Record>,
    /// Records that occur twice and were read once.
    repeated: u64,
}

impl Log {
    fn read(source: &mut Source<'_>) -> Result<Log, DatasetError> {
        let mut records: Vec<Record> = Vec::new();
        let mut copies = Copies::default();
        let mut repeated = 0;
        let read = |text: &str| {
            let (header, body) = read_record(text)?;
            let record = Record { line: 0, header: Box::new(header), body, behind_copy: false };
            if record.is_conversation() && record.header.uuid.is_none() {
                Err(Problem::shape("uuid", "a message must have one"))
            } else {
                Ok(record)
            }
        };
        while let Some((line, record)) = source.next_record(read)? {
            let mut record = Record { line, ..record };
            if copies.is_copy(&records, &mut record) { repeated += 1 } else { records.push(record) }
        }
        take_from_queue(&mut records);
        Ok(Log { records, repeated })
    }

    /// Whether there is nothing of a main conversation.
    fn is_of_subagent(&self) -> bool {
        let mut messages = self.records.iter().filter(|record| record.is_conversation());
        messages.all(Record::is_sidechain)
    }
}

/// Positions of the main records, and of each sidechain's by its root.
type Split = (Vec<usize>, BTreeMap<usize, Vec<usize>>);

fn split(records: &[Record], tree: &Tree) -> Result<Split, Problem> {
    let mut main = Vec::new();
    let mut sidechains: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut roots = FxHashMap::default();
    for (at, record) in records.iter().enumerate() {
        if record.is_sidechain() {
            let root = tree.sidechain_root(records, at, &mut roots)?;
            sidechains.entry(root).or_default().push(at);
        } else {
            main.push(at);
        }
    }
    Ok((main, sidechains))
}

// What a log writes again.
//
// A compaction writes earlier records once more, with their ids and times or
// with new ids, and the next record names the last of them as its parent
// (anthropics/claude-code 92089). The copies are no turns, and what follows
// them follows what was written before them.

/// The records so far, by what tells a copy.
#[derive(Default)]
struct Copies {
    uuids: FxHashSet<String>,
    /// The first record of each time and role.
    first: FxHashMap<(Timestamp, bool), usize>,
    /// The record whose copy has another id.
    originals: FxHashMap<String, String>,
    /// The copies since the last record that is none, and the newest of them.
    run: FxHashSet<String>,
    newest: Option<String>,
    /// Copies behind which other records follow.
    ends: FxHashSet<String>,
}

impl Copies {
    /// Whether a record repeats an earlier one. In one that is new it is noted
    /// whether it hangs on the end of a copy.
    fn is_copy(&mut self, records: &[Record], record: &mut Record) -> bool {
        for parent in [&mut record.header.parent_uuid, &mut record.header.logical_parent_uuid] {
            if let Some(original) = parent.as_ref().and_then(|uuid| self.originals.get(uuid)) {
                *parent = Some(original.clone());
            }
        }
        let Some(uuid) = record.header.uuid.clone() else { return false };
        let original = if self.uuids.contains(&uuid) {
            Some(uuid.clone())
        } else {
            self.same_words(records, record)
        };
        if let Some(original) = original {
            if original != uuid {
                self.originals.insert(uuid, original.clone());
            }
            self.run.insert(original.clone());
            self.newest = Some(original);
            return true;
        }
        self.uuids.insert(uuid);
        if let Some(key) = time_and_role(record) {
            self.first.entry(key).or_insert(records.len());
        }
        let parent = record.parent();
        self.ends.extend(self.newest.take());
        self.ends.extend(parent.filter(|uuid| self.run.contains(*uuid)).map(str::to_owned));
        self.run.clear();
        record.behind_copy = parent.is_some_and(|uuid| self.ends.contains(uuid));
        false
    }

    /// The id of an earlier record of the same time, role and content. Two
    /// blocks of one response may be equal: the second hangs on the first.
    fn same_words(&self, records: &[Record], record: &Record) -> Option<String> {
        let first = records.get(*self.first.get(&time_and_role(record)?)?)?;
        let same = match (&first.body, &record.body) {
            (Body::User(one), Body::User(other)) => one == other,
            (Body::Assistant(one), Body::Assistant(other)) => {
                one.id == other.id && one.content == other.content
            }
            _ => false,
        };
        let is_next = record.header.parent_uuid == first.header.uuid;
        first.header.uuid.clone().filter(|_| same && !is_next)
    }
}

/// The time of a message, and whether it is the user's. Subagents may be given
/// the same words at the same time.
fn time_and_role(record: &Record) -> Option<(Timestamp, bool)> {
    let is_own = record.is_conversation() && !record.is_sidechain();
    let time = record.header.timestamp.filter(|_| is_own)?;
    Some((time, matches!(record.body, Body::User(_))))
}
