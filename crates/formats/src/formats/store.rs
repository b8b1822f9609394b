//! The sessions of a store: which are subagents of which, and what becomes of
//! one that cannot be read.

use super::prelude::*;
use crate::check::check;
use crate::database::{Database, broken};
use crate::gathered::Aside;
use recap_core::text::{counted, excerpt};

/// The warning about stores of agents whose logs were at hand, but no store.
pub(super) const UNTRIED: &str = "the store is read from its public schema, without one at hand: \
     check what was read, and report what is wrong";

/// A session as the store lists it.
pub(super) struct Listed<S> {
    pub(super) id: String,
    /// The session whose agent started it.
    pub(super) parent: Option<String>,
    /// What else the store says of it.
    pub(super) facts: S,
}

/// Reads the listed sessions one after another. Subagents become sessions of
/// their own, or are counted at the session that started them (how-it-works §3). A
/// session that cannot be read is named in a warning, as a broken file of a
/// folder is; where none can be read, that is the error.
///
/// # Errors
/// Damage of the database itself, and the first problem where no session is left.
pub(super) fn read_sessions<S>(
    source: &mut Source<'_>,
    sessions: Vec<Listed<S>>,
    options: &LoadOptions,
    take: &mut Take<'_>,
    mut read: impl FnMut(&Listed<S>) -> Result<Draft, Problem>,
) -> Result<(), DatasetError> {
    let mut taken = 0;
    let mut first: Option<Problem> = None;
    for family in families(&sessions) {
        let mut drafts: Vec<Draft> = Vec::new();
        for (place, &at) in family.iter().enumerate() {
            let Some(listed) = sessions.get(at) else { continue };
            let draft = read(listed)
                .and_then(|draft| check(&draft).map(|()| draft).map_err(|(_, problem)| problem));
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
                Some(parent) if !options.sidechains => {
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
                  docs/files.md names where; what is still in the log of a running agent \
                  (`-wal`) is read where that stands beside the store";
    Problem::Nothing { what, remedy }
}

/// Positions of the sessions by families: one without a parent in the store
/// first, then all that it started, in the order of the list. Of a circle the
/// first one counts as the root.
fn families<S>(sessions: &[Listed<S>]) -> Vec<Vec<usize>> {
    let places: FxHashMap<&str, usize> =
        sessions.iter().enumerate().map(|(at, session)| (session.id.as_str(), at)).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); sessions.len()];
    let mut roots = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        let parent = session.parent.as_ref().and_then(|parent| places.get(parent.as_str()));
        match parent.and_then(|&parent| children.get_mut(parent)) {
            Some(siblings) => siblings.push(at),
            None => roots.push(at),
        }
    }
    let mut seen = vec![false; sessions.len()];
    let mut all = Vec::new();
    for root in roots.into_iter().chain(0..sessions.len()) {
        let (mut family, mut open) = (Vec::new(), vec![root]);
        while let Some(at) = open.pop() {
            let Some(seen) = seen.get_mut(at).filter(|seen| !**seen) else { continue };
            *seen = true;
            family.push(at);
            open.extend(children.get(at).into_iter().flatten().rev());
        }
        if !family.is_empty() {
            all.push(family);
        }
    }
    all
}
