//! Applies a program's answer to the context.

use std::collections::BTreeMap;

use super::protocol::{Piece, excerpt};
use crate::context::{Context, EntryId, InsertAt, Op};
use recap_core::model::Role;

/// The rule for the positions of the new messages in an answer.
const WHERE: &str =
    "a new message goes where the first message that it covers was, or before all messages";

/// Why every entry that a program was told of is there.
const VISIBLE: &str = "what is visible is an entry";

/// The name of an entry for programs: `m12` is recorded message 12, `s3` the
/// fourth text that a strategy wrote.
pub(super) fn name(id: EntryId) -> String {
    match (id.index(), id.ordinal()) {
        (Some(index), _) => format!("m{index}"),
        (None, ordinal) => format!("s{}", ordinal.expect("an entry is recorded or synthetic")),
    }
}

/// The entries whose names the program knows.
struct KnownEntries<'a> {
    base: &'a [EntryId],
    positions: BTreeMap<String, usize>,
}

impl KnownEntries<'_> {
    fn position(&self, id: &str) -> Result<usize, String> {
        let unknown = || format!("id `{}` is not in the context", excerpt(id));
        self.positions.get(id).copied().ok_or_else(unknown)
    }
}

/// Changes the text of an entry; returns the entry that carries it from now on.
fn edit(context: &mut Context, id: EntryId, text: String) -> Result<EntryId, String> {
    let name = name(id);
    let role = context.entry(id).expect(VISIBLE).role;
    if let Some((call, _)) = context.call_of(id) {
        context.apply(Op::EditResult(call, text.clone())).map_err(|error| error.to_string())?;
        if context.entry(id).is_none_or(|entry| entry.text != text) {
            return Err(format!("`{name}` holds more than a result and cannot be rewritten"));
        }
        return Ok(id);
    }
    let calls = id.index().map_or(&[][..], |index| context.recording().calls_in(index));
    if calls.iter().any(|call| !context.is_call_removed(call)) {
        return Err(format!(
            "`{name}` calls tools and cannot be rewritten; fold it together with its results"
        ));
    }
    if role == Role::Tool {
        return Err(format!("`{name}` answers no known call and cannot be rewritten"));
    }
    let fold = Op::Fold { range: vec![id], into: vec![(role, text)], at: InsertAt::InPlace };
    let made = context.apply(fold).map_err(|error| error.to_string())?;
    Ok(made[0])
}

/// Consecutive new messages that stand for others.
struct Group {
    /// Position of the first one among the pieces.
    at: usize,
    /// Positions of the entries that it covers; `None`: all other missing ones.
    covers: Option<Vec<usize>>,
    into: Vec<(Role, String)>,
}

/// A parsed piece of the new context.
enum NewEntries {
    Kept { position: usize, text: Option<String> },
    New(Group),
}

impl NewEntries {
    /// The position of a kept entry in the old context.
    fn position(&self) -> Option<usize> {
        match self {
            NewEntries::Kept { position, .. } => Some(*position),
            NewEntries::New(_) => None,
        }
    }
}

/// Makes the context what the pieces describe; the error names the part of the answer that is
/// wrong.
pub(super) fn apply(
    context: &mut Context,
    base: &[EntryId],
    pieces: Vec<Piece>,
) -> Result<(), String> {
    let positions = base.iter().enumerate().map(|(at, &id)| (name(id), at)).collect();
    let known = KnownEntries { base, positions };
    let mut parts = Vec::new();
    for (at, piece) in pieces.into_iter().enumerate() {
        understand(context, &known, &mut parts, at, piece)
            .map_err(|problem| format!("messages[{at}]: {problem}"))?;
    }
    let missing = settle(&known, &mut parts)?;
    let mut expected = Vec::new();
    let mut kept = parts.iter().filter_map(NewEntries::position).collect::<Vec<_>>().into_iter();
    let mut before: Option<usize> = None;
    for part in parts {
        match part {
            NewEntries::Kept { position, text } => {
                before = kept.next();
                let id = known.base[position];
                expected.push(match text {
                    Some(text) => edit(context, id, text)?,
                    None => id,
                });
            }
            NewEntries::New(group) => {
                let covers = group.covers.unwrap_or_default();
                let first = covers.iter().min().copied();
                let next = kept.as_slice().first().copied();
                let in_place = before < first && next.is_none_or(|next| first < Some(next));
                let recorded = |id: &EntryId| id.index().is_some();
                if !in_place && expected.iter().any(recorded) {
                    return Err(format!("messages[{}]: {WHERE}", group.at));
                }
                let range = covers.iter().map(|&position| known.base[position]).collect();
                let at = if in_place { InsertAt::InPlace } else { InsertAt::Head };
                let fold = Op::Fold { range, into: group.into, at };
                expected.extend(context.apply(fold).map_err(|error| error.to_string())?);
            }
        }
    }
    if !missing.is_empty() {
        context.apply(Op::Evict(missing)).map_err(|error| error.to_string())?;
    }
    if context.visible().eq(expected) {
        Ok(())
    } else {
        Err(format!("its messages cannot be in that order: {WHERE}"))
    }
}

fn understand(
    context: &Context,
    known: &KnownEntries<'_>,
    parts: &mut Vec<NewEntries>,
    at: usize,
    piece: Piece,
) -> Result<(), String> {
    let Piece { id, role, text, covers, .. } = piece;
    let Some(id) = id else {
        let (Some(role), Some(text)) = (role, text) else {
            return Err("a message without `id` is new and needs `role` and `text`".to_owned());
        };
        if role == Role::Tool {
            return Err("a new message cannot have the role `tool`: it answers no call".to_owned());
        }
        let covers = covers
            .map(|ids| ids.iter().map(|id| known.position(id)).collect::<Result<Vec<_>, _>>());
        match (covers.transpose()?, parts.last_mut()) {
            (None, Some(NewEntries::New(group))) => group.into.push((role, text)),
            (covers, _) => {
                parts.push(NewEntries::New(Group { at, covers, into: vec![(role, text)] }))
            }
        }
        return Ok(());
    };
    let position = known.position(&id)?;
    if covers.is_some() {
        return Err(format!("`{id}` is kept, so it covers nothing"));
    }
    match parts.iter().rev().find_map(NewEntries::position) {
        Some(last) if last == position => return Err(format!("`{id}` is listed twice")),
        Some(last) if last > position => {
            let last = name(known.base[last]);
            return Err(format!("`{id}` comes after `{last}`: messages keep their order"));
        }
        _ => {}
    }
    let entry = context.entry(known.base[position]).expect(VISIBLE);
    if role.is_some_and(|role| role != entry.role) {
        return Err(format!("`{id}` keeps its role `{}`", entry.role.as_str()));
    }
    let text = text.filter(|text| text != entry.text);
    parts.push(NewEntries::Kept { position, text });
    Ok(())
}

/// Assigns to every new message the entries that it covers; the rest are gone.
fn settle(known: &KnownEntries<'_>, parts: &mut [NewEntries]) -> Result<Vec<EntryId>, String> {
    let mut free = vec![true; known.base.len()];
    for part in &*parts {
        if let NewEntries::Kept { position, .. } = part {
            free[*position] = false;
        }
    }
    for part in &*parts {
        let NewEntries::New(Group { at, covers: Some(covers), .. }) = part else { continue };
        for &position in covers {
            if !std::mem::take(&mut free[position]) {
                let id = name(known.base[position]);
                return Err(format!("messages[{at}]: `{id}` is kept, or covered already"));
            }
        }
    }
    let mut rest: Vec<usize> = (0..free.len()).filter(|&position| free[position]).collect();
    let mut taken = None;
    for part in parts {
        let NewEntries::New(group) = part else { continue };
        let at = group.at;
        if group.covers.is_none() {
            if let Some(first) = taken.replace(at) {
                return Err(format!(
                    "messages[{at}]: only one new message may leave out `covers`, and \
                     messages[{first}] does"
                ));
            }
            group.covers = Some(std::mem::take(&mut rest));
        }
        if group.covers.as_ref().is_some_and(Vec::is_empty) {
            return Err(format!(
                "messages[{at}]: a new message must cover something; nothing is missing. A text \
                 that is always there is a stage of its own (`guidance`)"
            ));
        }
    }
    Ok(rest.into_iter().map(|position| known.base[position]).collect())
}
