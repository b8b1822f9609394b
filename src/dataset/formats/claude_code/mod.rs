//! Sessions of Claude Code: the JSON-lines logs under `~/.claude/projects`.

mod build;
mod tree;
mod wire;

use std::collections::BTreeMap;

use self::tree::Tree;
use self::wire::Record;
use super::content::warn_of_branches;
use super::prelude::*;
use super::qwen_code;
use crate::model::SIDECHAIN;

/// The format of Claude Code's session logs.
pub(super) const FORMAT: Format = Format {
    name: "claude-code",
    describe: "Claude Code session (JSON lines, ~/.claude/projects/*/*.jsonl)",
    tried: Tried::On {
        files: 15,
        compared: "tool results, requests, compactions with trigger and tokens before",
    },
    sniff,
    read: Read::All(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    let is_record = |record: &Json| {
        let kind = record.get("type").and_then(Json::as_str);
        matches!(kind, Some("user" | "assistant" | "system" | "progress"))
            && record.get("sessionId").is_some()
            && record.get("uuid").is_some()
    };
    head.any(is_record) && !head.any(qwen_code::is_record)
}

fn read(source: &mut Source<'_>, options: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    let (mut records, repeated) = read_records(source)?;
    let mut tree = Tree::new(&records);
    if tree.is_newest_first() {
        records.reverse();
        tree = Tree::new(&records);
        source.warn("its newest record comes first; it was read from its end");
    }
    warn_of_lost_parents(source, tree.lost_parents(&records));
    let (main, sidechains) = split(&records, &tree)
        .map_err(|problem| source.error(records.first().map(|r| r.line), problem))?;
    let stem = source.stem().to_owned();
    let mut drafts = Vec::new();
    let mut one = |id: String, members: &[usize], root: Option<usize>| {
        let built = build::build(&mut records, &tree, members, root);
        let mut draft = built.map_err(|(line, problem)| source.error(Some(line), problem))?;
        draft.transcript.id = id;
        if !draft.transcript.messages.is_empty() {
            drafts.push(draft);
        }
        Ok::<(), DatasetError>(())
    };
    one(stem.clone(), &main, None)?;
    if options.sidechains {
        for (n, (&root, members)) in sidechains.iter().enumerate() {
            one(format!("{stem}{SIDECHAIN}{}", n + 1), members, Some(root))?;
        }
    }
    let skipped = match options.sidechains {
        true => 0,
        false => sidechains.values().map(|m| m.len() as u64).sum(),
    };
    for draft in &drafts {
        warn_of_branches(source, draft, build::ABANDONED);
    }
    if let Some(first) = drafts.first_mut() {
        first.leave_out("record written twice", repeated);
        first.leave_out("torn last line", source.torn());
        first.leave_out("sidechain record", skipped);
        if skipped > 0 {
            first.transcript.sidechains = build::sidechain_requests(&records);
        }
    } else if skipped > 0 {
        source.warn(format!("nothing but sidechain records ({skipped})"));
    }
    Ok(drafts)
}

/// Reads the log. A record that occurs twice (a resumed session copies the one
/// that it continues) is read once; the second value counts the copies.
fn read_records(source: &mut Source<'_>) -> Result<(Vec<Record>, u64), DatasetError> {
    let mut records: Vec<Record> = Vec::new();
    let mut uuids = FxHashSet::default();
    let mut repeated = 0;
    while let Some((line, (header, body))) = source.next_record(wire::read)? {
        if let Some(uuid) = &header.uuid
            && !uuids.insert(uuid.clone())
        {
            repeated += 1;
            continue;
        }
        let record = Record { line, header, body };
        if record.is_conversation() && record.header.uuid.is_none() {
            let problem = Problem::shape("uuid", "a message must have one");
            return Err(source.error(Some(line), problem));
        }
        records.push(record);
    }
    Ok((records, repeated))
}

fn warn_of_lost_parents(source: &mut Source<'_>, lost: usize) {
    if lost > 0 {
        source.warn(format!(
            "parents that are not in the file: {lost}; \
             each record was put behind the message before it"
        ));
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
